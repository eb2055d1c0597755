"""TL502: the template changes a list or a mapping, which the sandbox refuses."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.environment import MUTATORS
from template_lint.rendering.positions import offset_of
from template_lint.rules.base import Rule
from template_lint.rules.places import line_place


class SandboxRefused(Rule):
    """The template calls a method that the sandbox of ``apply_chat_template`` refuses.

    What: ``append``, ``extend``, ``insert``, ``pop``, ``remove``, ``sort``, ``update``, ``setdefault`` and the like:
    all that change a list or a mapping in place. Read from the source, so a branch that is rarely taken counts; and
    any such refusal in a render.

    Why it matters: ``apply_chat_template`` renders in an immutable sandbox and raises SecurityError when the call is
    reached. Other engines allow it, so the author may never have seen it.

    How to fix: build a new value: ``items + [x]`` in a namespace, ``dict(mapping, key=value)``, ``items[1:]`` for
    ``pop(0)``, ``items | sort``.
    """

    code = "TL502"
    name = "sandbox-refused"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per method; then what only a render called."""
        calls: dict[str, list[nodes.Call]] = {}
        for call in facts.static.of(nodes.Call):
            for name in _method_names(facts, call.node):
                if name in MUTATORS:
                    calls.setdefault(name, []).append(call)
        for name, found in calls.items():
            yield self._finding(facts, name, place=_place(facts, found[0].node), places=len(found))
        for (name, _), line in facts.template.refusals.items():
            if name in MUTATORS and name not in calls:
                yield self._finding(facts, name, place=line_place(facts, line), places=1)

    def _finding(self, facts: TemplateFacts, name: str, *, place: Place | None, places: int) -> Finding:
        kinds = [kind for refused, kind in facts.template.refusals if refused == name]
        seen = f"; a render reached it on a {kinds[0]}" if kinds else ""
        again = f", {places} times" if places > 1 else ""
        return self.finding(
            facts,
            f"calls {name}(){again}: the sandbox raises SecurityError when the call is reached{seen}",
            remedy=_remedy(name),
            place=place,
            evidence={"method": name, "calls": places, "reached": bool(kinds)},
        )


def _method_names(facts: TemplateFacts, target: nodes.Node) -> list[str]:
    if isinstance(target, nodes.Getattr):
        return [target.attr]
    if isinstance(target, nodes.Getitem):
        return facts.constants.strings(target.arg)
    return []


def _place(facts: TemplateFacts, target: nodes.Node) -> Place:
    source = facts.template.source_map
    index = source.token_index(max(offset_of(target), 0))
    name = source.tokens[min(index + 1, len(source.tokens) - 1)]
    return source.place(name.offset, name.end)


def _remedy(name: str) -> str:
    if name in ("append", "extend", "insert"):
        return "Build a new list: {% set ns.items = ns.items + [x] %}."
    if name in ("update", "setdefault"):
        return "Build a new mapping, in a loop within a namespace: {% set ns.d = dict(ns.d, key=value) %}."
    if name in ("sort", "reverse"):
        return f"Use the filter: items | {name}."
    return "Take what is left instead: items[1:], or loop over the items with a condition."
