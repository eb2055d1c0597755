"""TL207: a Python literal reaches the prompt."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.literals import Literal, python_literals
from template_lint.facts.variants import Kind, Variant
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule
from template_lint.rules.defects import shapes
from template_lint.rules.places import made_text_at, value_printed_at
from template_lint.rules.wording import around, listed, shorten

_REMEDIES = {
    Kind.EMPTY: "Print content only where it is a string: message.content or ''.",
    Kind.PARTS: "Join the text parts where content is not a string, or refuse them with raise_exception.",
    Kind.SCHEMA: "Print the tools with tojson, unless the model was trained on what they look like here.",
}
_MILD = (Kind.PARTS, Kind.SCHEMA)


class PythonLiteral(Rule):
    """``None``, ``True``, ``False`` or a Python list or mapping reaches the prompt.

    What: the value was put there by our own conversation, as content that is null, as a boolean, null, list or mapping
    among a call's arguments, or as content in typed text parts, and comes out as Python writes it. Templates whose
    calls are Python calls are not asked about arguments: there it belongs. Tool schemas that are printed so, whole or
    where they hold null, booleans or a list of types, are a warning: the model reads them, and does not write them.

    Why it matters: the model was trained on JSON, where these are ``null``, ``true`` and ``false``. What it reads here
    it will write, and the parser of its calls will refuse.

    How to fix: print values with ``tojson`` unless they are strings; print content only where there is some.
    """

    code = "TL207"
    name = "python-literal"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per place that makes or prints a literal; one for all of the schemas."""
        groups: dict[Place | None, list[Literal]] = {}
        schemas: list[Literal] = []
        for literal in python_literals(facts):
            if literal.variant.kind is Kind.SCHEMA:
                schemas.append(literal)
            else:
                groups.setdefault(_made_at(facts, literal), []).append(literal)
        for place, group in groups.items():
            yield self._found(facts, place, group)
        if schemas:
            yield self._found(facts, _made_at(facts, schemas[0]), schemas)

    def _found(self, facts: TemplateFacts, place: Place | None, group: list[Literal]) -> Finding:
        first = group[0]
        titles = list(dict.fromkeys(literal.variant.title for literal in group))
        excerpt, at = around(first.variant.outcome.text or "", first.offset)
        mild = all(literal.variant.kind in _MILD for literal in group)
        literals = [first.text]
        if first.variant.kind is Kind.SCHEMA:
            literals = list(dict.fromkeys(literal.text for literal in group))
        return self.finding(
            facts,
            f"Python's {listed([shorten(literal) for literal in literals])}"
            f" {'reaches' if len(literals) == 1 else 'reach'} the prompt, with {listed(titles)}",
            remedy=_remedy(first.variant),
            place=place,
            severity=Severity.WARNING if mild else None,
            evidence={"literal": first.text, "shapes": titles, "prompt": excerpt, "excerpt_offset": at},
            defects=shapes(titles),
        )


def _made_at(facts: TemplateFacts, literal: Literal) -> Place | None:
    # Schemas are mostly written by macros.
    value = literal.text if literal.variant.kind is Kind.SCHEMA else None
    return made_text_at(facts, value_printed_at(facts, literal.variant.conversation, literal.offset, value))


def _remedy(variant: Variant) -> str:
    return _REMEDIES.get(variant.kind, "Print what is not a string with tojson.")
