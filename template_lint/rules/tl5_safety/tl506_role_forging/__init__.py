"""TL506: the role of a message is pasted into the control text of the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.origins import ROLE
from template_lint.facts.probes import ASK
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.positions import SourceMap
from template_lint.rules.base import Rule
from template_lint.rules.places import line_place
from template_lint.rules.wording import shorten

_FORGED = "zqrole"
_AROUND = 24
_REMEDY = "Refuse other roles: {% if message.role not in [...] %}{{ raise_exception('unknown role') }}{% endif %}."


class RoleForging(Rule):
    """The role of a message is pasted into the control text of the prompt.

    What: a message with a role that the template does not know is rendered with that word in its header.

    Why it matters: where roles come from outside (a gateway, a stored conversation), a "role" that contains the
    template's own markers closes the turn and opens one of the system. And a misspelt role (``asistant``) goes to the
    model instead of failing.

    How to fix: compare the role with the ones the model knows, and ``raise_exception`` for any other.
    """

    code = "TL506"
    name = "role-forging"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Render an unknown role, alone and after a question."""
        forged = {"role": _FORGED, "content": "zqquestion"}
        for messages in ([forged], [ASK, forged]):
            text = facts.render(messages).text or ""
            at = text.find(_FORGED)
            if at >= 0:
                yield self.finding(
                    facts,
                    f"a role that the template does not know is pasted into the prompt: role {_FORGED!r} gives "
                    f"{shorten(_excerpt(text, at))}",
                    remedy=_REMEDY,
                    place=_place(facts, messages, at),
                    evidence={"role": _FORGED, "text": _excerpt(text, at)},
                )
                return


def _excerpt(text: str, at: int) -> str:
    start = text.rfind("\n", max(0, at - _AROUND), at) + 1 or max(0, at - _AROUND)
    return text[start : at + len(_FORGED) + _AROUND]


def _place(facts: TemplateFacts, messages: list[Any], offset: int) -> Place | None:
    """The expression that puts the role into the text: on the line that printed it, else the first there is."""
    line = facts.line_printing(messages, offset)
    source = facts.template.source_map
    printed = [child for output in facts.static.of(nodes.Output) for child in output.nodes]
    assigned = [assign.node for assign in facts.static.of(nodes.Assign)]
    ranges = [
        (_lines(source, span), span)
        for node in [*printed, *assigned]
        if ROLE in facts.origins.of(node) and not isinstance(node, nodes.Name | nodes.TemplateData)
        for span in [source.expression_range(node)]
    ]
    here = [span for lines, span in ranges if line is not None and line in lines]
    found = here or [span for _, span in ranges]
    return source.place(*found[0]) if found else line_place(facts, line)


def _lines(source: SourceMap, span: tuple[int, int]) -> range:
    return range(source.line_column(span[0])[0], source.line_column(span[1])[0] + 1)
