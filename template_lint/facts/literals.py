"""Python literals in a prompt: what ``str()`` makes of None, booleans, lists and mappings."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.probes import ASK, CALL_NAME
from template_lint.facts.schemas import schema_variants, schemas_at_once
from template_lint.facts.variants import Conversation, Kind, Variant, tool_conversation, variants

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_WORDS = re.compile(r"\b(?:None|True|False)\b")
# Keys and values of the probes in Python's quotes. A template's own text cannot hold them.
_REPR = re.compile(r"""[{\[]'(?:zq\w+|type|id|function)'(?:: (?:'zq|'text'|'function'|\{|\[|True|False|None)|, |\])""")
# A list or mapping of a schema, also where its text was put into capitals.
_SCHEMA_REPR = re.compile(r"""\[(?:'\w+'|None)(?:, (?:'\w+'|None))+\]|\{'[\w$]+': ['{\[]""")
SCHEMAS = "tool schemas"
"""The title of what is found in the schemas, whatever their shape."""

_SHOWN = 24
_PYTHON_CALL = re.compile(rf"\b{CALL_NAME}\((?!\))")


class Literal(NamedTuple):
    """A Python literal at ``offset`` of a variant's prompt."""

    variant: Variant
    text: str
    offset: int


@lru_cache(maxsize=1)
def python_literals(facts: TemplateFacts) -> list[Literal]:
    """The first Python literal that each shape brings into the prompt, and one of the tool schemas."""
    found = [_in_hard(facts, v) if v.kind is Kind.HARD else literal_in(v) for v in variants(facts)]
    if facts.tool_rules_apply:
        found += _in_schemas(facts)
    return [literal for literal in found if literal is not None]


def pastes_mappings(facts: TemplateFacts) -> bool:
    """Whether arguments come out as Python writes a mapping or a list."""
    return any(literal.variant.kind is Kind.HARD and literal.text[0] in "[{" for literal in python_literals(facts))


def literal_in(variant: Variant) -> Literal | None:
    """The first Python literal that this shape has and the usual shape has not."""
    if not variant.comparable:
        return None
    text, reference = variant.outcome.text or "", variant.reference.text or "" if variant.reference else ""
    if text == reference:
        return None
    match = _REPR.search(text)
    if match is not None and _REPR.search(reference) is None:
        return _repr_literal(variant, match)
    return _first_more(variant, text, reference)


def writes_python_calls(facts: TemplateFacts) -> bool:
    """Whether the model's calls are Python: there ``True`` and ``None`` are what belongs into the prompt."""
    return _PYTHON_CALL.search(tool_conversation(facts).render(facts).text or "") is not None


def _in_hard(facts: TemplateFacts, variant: Variant) -> Literal | None:
    usual = tool_conversation(facts).render(facts).text
    text = variant.outcome.text
    if text is None or usual is None or writes_python_calls(facts):
        return None
    match = _REPR.search(text, text.find(ASK["content"]) + 1)
    word = _first_more(variant, text, usual)
    if match is not None and (word is None or match.start() < word.offset):
        return _repr_literal(variant, match)
    return word


def _in_schemas(facts: TemplateFacts) -> list[Literal | None]:
    """Schemas that are printed as they are; else the values that come out as Python's, shape by shape.

    A tool that is shown as a Python function may have Python's defaults.
    """
    conversation = Conversation([ASK])
    outcome = conversation.render(facts)
    text = outcome.text or ""
    match = _REPR.search(text)
    if match is not None:
        return [_repr_literal(Variant(Kind.SCHEMA, SCHEMAS, conversation, outcome, None), match)]
    if f"def {CALL_NAME}(" in text:
        return []
    at_once = schemas_at_once(facts)
    if at_once is not None and at_once.outcome.ok and _in_schema(at_once) is None:
        return []
    return [_in_schema(variant) for variant in schema_variants(facts)]


def _in_schema(variant: Variant) -> Literal | None:
    literal = literal_in(variant)
    text, reference = variant.outcome.text or "", variant.reference.text or "" if variant.reference else ""
    shown = set(_SCHEMA_REPR.findall(reference))
    match = next((m for m in _SCHEMA_REPR.finditer(text) if m[0] not in shown), None)
    if match is None or (literal is not None and literal.offset < match.start()):
        return literal
    return _repr_literal(variant, match)


def _repr_literal(variant: Variant, match: re.Match[str]) -> Literal:
    shown = match[0] if match[0].endswith("]") else match.string[match.start() : match.start() + _SHOWN]
    return Literal(variant, shown, match.start())


def _first_more(variant: Variant, text: str, reference: str) -> Literal | None:
    """The first word that a prompt has more of than another."""
    more = Counter(_WORDS.findall(text)) - Counter(_WORDS.findall(reference))
    if not more:
        return None
    # Both prompts begin alike: the literal is not in what they share.
    start = max(0, common_prefix_length(text, reference) - len("False"))
    match = next((m for m in _WORDS.finditer(text, start) if m[0] in more), None)
    return None if match is None else Literal(variant, match[0], match.start())
