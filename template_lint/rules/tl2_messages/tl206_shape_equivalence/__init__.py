"""TL206: shapes that mean the same give different prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import find_cause
from template_lint.facts.literals import literal_in, pastes_mappings
from template_lint.facts.no_tools import empty_tools
from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.probes import ARGUMENT, CALL, RESULT
from template_lint.facts.variants import JSON_RESULT, Kind, Variant, hard_variant, variants
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule
from template_lint.rules.defects import shapes
from template_lint.rules.places import made_text_at, printed_at
from template_lint.rules.wording import around, shorten, word_start

_REMEDIES = {
    Kind.ARGUMENTS: "Print arguments as they are where they are a string, and with tojson where they are a mapping.",
    Kind.EMPTY: "Treat content that is absent, null or empty alike: message.content or ''.",
    Kind.NO_CALLS: "Test that there are calls, not that the key is there, at each place: {% if message.tool_calls %}.",
    Kind.NO_TOOLS: "Test that there are tools, not that there is a list of them: {% if tools %}.",
    Kind.PARTS: "Print the text of a text part as if it were the whole content.",
    Kind.REASONING: "Read the reasoning from reasoning_content, thinking or reasoning, whichever is there.",
}
_REFUSE = (
    "Refuse arguments that are a string with raise_exception: no template can turn JSON into this language of calls."
)
_JSON_ARGUMENTS = "".join(json.dumps(CALL["tool_calls"][0]["function"]["arguments"]).split())
_LEGITIMATE_BEFORE_QUOTE = (":", ",", "[", "(", "=")


class ShapeEquivalence(Rule):
    """Two shapes of one conversation give two prompts.

    What: arguments as a JSON string and as a mapping (a string is often encoded a second time), empty, null and absent
    content, ``tool_calls: []`` and none, ``tools=[]`` and none, text and one typed text part, the names under which
    reasoning is sent, and a tool result that is JSON text and comes out quoted. White space between JSON tokens does
    not count.

    Why it matters: which of them arrives depends on the client, the server and its version. The model was trained on
    one prompt and reads another.

    How to fix: bring each value into one form before it is printed.
    """

    code = "TL206"
    name = "shape-equivalence"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare each shape with the usual one; one finding per place."""
        reported: set[Place | None] = set()
        for variant in [*variants(facts), *empty_tools(facts)]:
            if not variant.comparable or not _differs(variant):
                continue
            text, usual = variant.outcome.text or "", variant.reference.text or "" if variant.reference else ""
            offset = common_prefix_length(text, usual)
            if _is_python_as_mapping(facts, variant, usual, offset):
                continue
            place = _decided_at(facts, variant, text, usual) or _printed_at(facts, variant, text, offset)
            if place is None or place not in reported:
                reported.add(place)
                yield self.finding(
                    facts,
                    f"{variant.title} gives another prompt: {_excerpt(usual, offset)} becomes {_excerpt(text, offset)}",
                    remedy=_remedy(variant, usual),
                    place=place,
                    evidence=_evidence(variant.title, usual, text, offset),
                    defects=shapes([variant.title]),
                )
        if facts.tool_rules_apply:
            yield from self._quoted_result(facts, reported)

    def _quoted_result(self, facts: TemplateFacts, reported: set[Place | None]) -> Iterator[Finding]:
        """A result that is JSON text, standing in the prompt as a quoted string."""
        quoted = JSON_RESULT.replace('"', '\\"')
        variant = hard_variant(facts)
        text = variant.outcome.text or ""
        at = text.find(quoted)
        if at <= 0 or JSON_RESULT in text or text[at - 1] != '"':
            return
        if text[: at - 1].rstrip().endswith(_LEGITIMATE_BEFORE_QUOTE):
            return
        place = printed_at(facts, variant.conversation, at)
        if place is not None and place in reported:
            return
        end = at + len(quoted) + 1
        yield self.finding(
            facts,
            f"a tool result that is a string is encoded again: {shorten(JSON_RESULT)} becomes"
            f" {shorten(text[at - 1 : end])}",
            remedy="Print the content as it is where it is a string; tojson is for mappings and lists.",
            place=place,
            evidence=_evidence(
                "a tool result that is JSON text", text[: at - 1] + JSON_RESULT + text[end:], text, at - 1
            ),
        )


def _is_python_as_mapping(facts: TemplateFacts, variant: Variant, usual: str, offset: int) -> bool:
    """Whether the prompts differ because a mapping comes out in Python's words, and TL207 says so."""
    return variant.kind is Kind.ARGUMENTS and usual.startswith("{'", offset - 1) and pastes_mappings(facts)


def _remedy(variant: Variant, usual: str) -> str:
    if variant.kind is Kind.ARGUMENTS and _JSON_ARGUMENTS not in "".join(usual.split()):
        return _REFUSE
    return _REMEDIES[variant.kind]


def _printed_at(facts: TemplateFacts, variant: Variant, text: str, offset: int) -> Place | None:
    """What encodes or prints the first difference; of arguments, white space is none."""
    if variant.kind is Kind.ARGUMENTS:
        offset += len(text[offset:]) - len(text[offset:].lstrip())
    printed = printed_at(facts, variant.conversation, offset)
    return made_text_at(facts, printed, ("tojson",)) if variant.kind in (Kind.ARGUMENTS, Kind.PARTS) else printed


def _decided_at(facts: TemplateFacts, variant: Variant, shaped: str, usual: str) -> Place | None:
    """The condition, or the piece printed for one shape only, that makes the two prompts differ, where that is proven.

    Not asked where what prints the difference makes it: of arguments, and of parts that do not leave out a text.
    """
    if variant.kind is Kind.ARGUMENTS or variant.usual is None:
        return None
    if variant.kind is Kind.PARTS and not usual.endswith(shaped[common_prefix_length(shaped, usual) :]):
        return None
    contexts = [
        facts.context(conversation.messages, conversation.tool_list, {}, True)
        for conversation in (variant.conversation, variant.usual)
    ]
    cause = find_cause(facts.template, (contexts[0], contexts[1]), (shaped, usual), whole=True)
    return cause.place if cause is not None and cause.proven else None


def _differs(variant: Variant) -> bool:
    """Whether the prompts differ in a way that no other rule reports."""
    text, usual = variant.outcome.text or "", variant.reference.text or "" if variant.reference else ""
    if text == usual:
        return False
    if variant.kind is Kind.ARGUMENTS and "".join(text.split()) == "".join(usual.split()):
        return False
    if variant.kind is Kind.ARGUMENTS and ARGUMENT in usual and ARGUMENT not in text and RESULT in text:
        return False  # TL201
    if variant.kind is Kind.PARTS and not all(word in text for word in variant.words):
        return False
    if variant.kind is Kind.PARTS and not all(word in usual for word in variant.words):
        return False
    return literal_in(variant) is None


def _excerpt(text: str, offset: int) -> str:
    start = word_start(text, offset)
    return shorten(text[start:], 28) if start < len(text) else "nothing"


def _evidence(shape: str, usual: str, text: str, offset: int) -> dict[str, Any]:
    earlier, at = around(usual, offset)
    later, _ = around(text, offset)
    return {"shape": shape, "usual": earlier, "shaped": later, "excerpt_offset": at, "offset": offset}
