"""TL207: a Python literal reaches the prompt."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.literals import SCHEMAS, Literal, python_literals
from template_lint.facts.variants import Kind, Variant
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule
from template_lint.rules.defects import shapes
from template_lint.rules.places import made_text_at, value_printed_at
from template_lint.rules.wording import around, listed, shorten

_REMEDIES = {
    Kind.EMPTY: "Print content only where it is a string: message.content or ''.",
    Kind.PARTS: "Join the text parts where content is not a string, or refuse them with raise_exception.",
}
_SCHEMA_REMEDY = "Print the tools with tojson, unless the model was trained on what they look like here."


class PythonLiteral(Rule):
    """``None``, ``True``, ``False`` or a Python list or mapping reaches the prompt.

    What: the value was put there by our own conversation, as content that is null, as a boolean, null, list or mapping
    among a call's arguments, or as content in typed text parts, and comes out as Python writes it. Templates whose
    calls are Python calls are not asked about arguments: there it belongs. Tool schemas that are printed so are a
    warning: the model reads them, and does not write them.

    Why it matters: the model was trained on JSON, where these are ``null``, ``true`` and ``false``. What it reads here
    it will write, and the parser of its calls will refuse.

    How to fix: print values with ``tojson`` unless they are strings; print content only where there is some.
    """

    code = "TL207"
    name = "python-literal"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per place that makes or prints a literal."""
        groups: dict[Place | None, list[Literal]] = {}
        for literal in python_literals(facts):
            printed = value_printed_at(facts, literal.variant.conversation, literal.offset)
            groups.setdefault(made_text_at(facts, printed), []).append(literal)
        for place, group in groups.items():
            first = group[0]
            titles = list(dict.fromkeys(literal.variant.title for literal in group))
            excerpt, at = around(first.variant.outcome.text or "", first.offset)
            mild = all(literal.variant.kind is Kind.PARTS or literal.variant.title == SCHEMAS for literal in group)
            yield self.finding(
                facts,
                f"Python's {shorten(first.text)} reaches the prompt, with {listed(titles)}",
                remedy=_remedy(first.variant),
                place=place,
                severity=Severity.WARNING if mild else None,
                evidence={"literal": first.text, "shapes": titles, "prompt": excerpt, "excerpt_offset": at},
                defects=shapes(titles),
            )


def _remedy(variant: Variant) -> str:
    if variant.title == SCHEMAS:
        return _SCHEMA_REMEDY
    return _REMEDIES.get(variant.kind, "Print what is not a string with tojson.")
