"""The delta: the text that appended tool messages add, from the real conversation and from a dummy one.

A token-in-token-out loop computes the delta on a dummy conversation, so it must not depend on what came before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.prefix import Appended, Question

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

PLACEHOLDER_NAME = "dummy"
PLACEHOLDER_ID = "dummyId00"


class DeltaDifference(NamedTuple):
    """A tool question whose real delta is not the dummy's; ``at`` is the first differing offset within the deltas."""

    question: Question
    real: str
    dummy: str
    at: int


def dummy_delta(
    facts: TemplateFacts,
    results: Sequence[Mapping[str, Any]],
    kwargs: Mapping[str, Any],
    *,
    name: str | None = None,
    call_id: str | None = None,
) -> str | None:
    """What ``results`` add to a one-call dummy conversation, or None where its prefix does not hold or it does not
    render.

    The call carries the results' own names and ids; ``name`` and ``call_id`` replace them with placeholders.
    """
    named = [
        {**result, "name": name or result.get("name"), "tool_call_id": call_id or result.get("tool_call_id")}
        for result in results
    ]
    calls = [
        {"id": result["tool_call_id"], "type": "function", "function": {"name": result["name"], "arguments": {}}}
        for result in named
    ]
    opening = [
        {"role": "user", "content": "dummy"},
        *facts.shape.apply([{"role": "assistant", "content": "", "tool_calls": calls}]),
    ]
    earlier = facts.render(opening, kwargs=kwargs)
    later = facts.render([*opening, *named], generation_prompt=True, kwargs=kwargs)
    if earlier.text is None or later.text is None or not later.text.startswith(earlier.text):
        return None
    return later.text[len(earlier.text) :]


def delta_differences(facts: TemplateFacts) -> tuple[list[DeltaDifference], int]:
    """The tool questions whose real delta differs from the dummy's, and how many could be compared."""
    different = []
    compared = 0
    for question in facts.answered(Appended.TOOL):
        if question.scenario.own or not question.holds:
            continue
        results = question.scenario.messages[question.earlier : question.later]
        dummy = dummy_delta(facts, results, question.scenario.kwargs)
        if dummy is None:
            continue
        compared += 1
        real = question.delta
        if real != dummy:
            at = next(
                (i for i, (a, b) in enumerate(zip(real, dummy, strict=False)) if a != b), min(len(real), len(dummy))
            )
            different.append(DeltaDifference(question, real, dummy, at))
    return different, compared
