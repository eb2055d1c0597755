"""What a page shows of a template beyond its findings: pairs of renders that part, and one conversation by owner.

The result is JSON data, made only where it was asked for:

    {"pairs": [{"appended": "tool", "cause": [line, column] or null, "scenario": NAME, "offset": code points,
                "earlier": TEXT, "later": TEXT}],
     "strips": [{"scenario": NAME, "title": TEXT, "tokens": bool, "marked": bool, "cut": bool,
                 "parts": [{"text": TEXT, "owner": "prompt|model|tool", "mask": 0|1, "id": int|null}]}]}

Parts are tokens where there is a tokenizer, else runs of text with one owner and one mask.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from template_lint.facts.divergences import divergences
from template_lint.facts.prefix import Appended, Question, common_prefix_length, wants_generation_prompt
from template_lint.model import Place
from template_lint.rendering.masks import token_mask

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.scenarios.model import Scenario

_MOST_PAIRS_OF_A_KIND = 3
_MOST_PARTS = 1500
# Long tails first: a short one, such as a terminator alone, may also stand elsewhere.
_TAILS = (96, 48, 24, 12)
_STRIPS = ("call-with-content", "two-rounds-reasoning", "chat")
_OWNERS = {Appended.ASSISTANT: "model", Appended.TOOL: "tool"}


def display_of(facts: TemplateFacts) -> dict[str, Any]:
    """The pairs and strips of one template that compiles."""
    return {"pairs": _pairs(facts), "strips": [strip for name in _STRIPS if (strip := _strip(facts, name))]}


def _pairs(facts: TemplateFacts) -> list[dict[str, Any]]:
    """The first divergences of each kind that have different causes."""
    pairs = []
    for kind in (Appended.TOOL, Appended.USER, Appended.SYSTEM, Appended.ASSISTANT):
        causes: set[Any] = set()
        for divergence in divergences(facts, kind):
            cause = divergence.cause
            key = (cause.place if cause is not None else None, kind)
            if key not in causes and len(causes) < _MOST_PAIRS_OF_A_KIND:
                causes.add(key)
                pairs.append(_pair(divergence.question, divergence.offset, cause.place if cause is not None else None))
    return pairs


def _pair(question: Question, offset: int, place: Place | None) -> dict[str, Any]:
    return {
        "appended": question.appended.value,
        "cause": [place.line, place.column] if place is not None else None,
        "scenario": question.scenario.name,
        "offset": offset,
        "earlier": question.earlier_outcome.text,
        "later": question.later_outcome.text,
    }


def _strip(facts: TemplateFacts, name: str) -> dict[str, Any] | None:
    scenario = next((s for s in facts.scenarios if s.name == name), None)
    if scenario is None or (scenario.tools and not facts.static.reads_tools):
        return None
    count = len(scenario.messages)
    context = facts.scenario_context(scenario, count, wants_generation_prompt(scenario, count))
    outcome, spans = facts.template.render_with_spans(context)
    if outcome.text is None:
        return None
    owners = _owned_ranges(facts, scenario, outcome.text)
    if facts.tokenization is not None:
        ids, offsets = facts.tokenization.encode_with_offsets(outcome.text)
        mask = token_mask(spans, offsets, facts.profile)
        pieces: list[tuple[int | None, tuple[int, int], int]] = list(zip(ids, offsets, mask, strict=True))
    else:
        edges = sorted({0, len(outcome.text), *(edge for span in (*spans, *(r[:2] for r in owners)) for edge in span)})
        pieces = [
            (None, (start, end), int(any(s <= start and end <= e for s, e in spans))) for start, end in pairwise(edges)
        ]
    parts = [
        {"text": outcome.text[start:end], "owner": _owner(owners, start), "mask": marked, "id": token_id}
        for token_id, (start, end), marked in pieces[:_MOST_PARTS]
    ]
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "tokens": facts.tokenization is not None,
        "marked": bool(spans),
        "cut": len(pieces) > _MOST_PARTS,
        "parts": parts,
    }


def _owned_ranges(facts: TemplateFacts, scenario: Scenario, text: str) -> list[tuple[int, int, str]]:
    """[start, end, owner] over the whole text: each cut's render says how far the text belongs to what came before."""
    ranges = []
    start = 0
    for question in [None, *facts.questions_of(scenario)]:
        count = scenario.cuts[0] if question is None else question.later
        shorter = facts.render_scenario(scenario, count, wants_generation_prompt(scenario, count)).text or ""
        end = _reach(shorter, text, start)
        owner = "prompt" if question is None else _OWNERS.get(question.appended, "prompt")
        ranges.append((start, end, owner))
        start = end
    ranges.append((start, len(text), "prompt"))
    return ranges


def _reach(shorter: str, text: str, start: int) -> int:
    """How far ``text`` holds what ``shorter`` holds; where the prefix is broken, to the next place that ends alike."""
    common = common_prefix_length(shorter, text)
    if common == len(shorter):
        return max(start, common)
    for length in _TAILS:
        at = text.find(shorter[-length:], start)
        if at >= 0:
            return at + len(shorter[-length:])
    return max(start, common)


def _owner(ranges: list[tuple[int, int, str]], offset: int) -> str:
    return next((owner for start, end, owner in ranges if start <= offset < end), "prompt")
