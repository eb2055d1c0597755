"""The delta: the text that appended tool messages add, from the real conversation and from a dummy one.

A token-in-token-out loop computes the delta on a dummy conversation, so it must not depend on what came before.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.cause import Cause
from template_lint.facts.prefix import Appended, Question
from template_lint.rendering.sites import place_of
from template_lint.rendering.trace import Trace

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_MOST_TRIED = 40
PLACEHOLDER_NAME = "dummy"
PLACEHOLDER_ID = "dummyId00"


class DeltaDifference(NamedTuple):
    """A tool question whose real delta is not the dummy's; ``at`` is the first differing offset within the deltas."""

    question: Question
    real: str
    dummy: str
    at: int


def dummy_conversation(
    facts: TemplateFacts,
    results: Sequence[Mapping[str, Any]],
    *,
    name: str | None = None,
    call_id: str | None = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One user message and the calls that ``results`` answer, and the results.

    The calls carry the results' own names and ids; ``name`` and ``call_id`` replace them with placeholders.
    """
    named = [
        {**result, "name": name or result.get("name"), "tool_call_id": call_id or result.get("tool_call_id")}
        for result in results
    ]
    calls = [
        {"id": result["tool_call_id"], "type": "function", "function": {"name": result["name"], "arguments": {}}}
        for result in named
    ]
    turn = facts.shape.apply([{"role": "assistant", "content": "", "tool_calls": calls}])
    return [{"role": "user", "content": "dummy"}, *turn], named


def dummy_delta(
    facts: TemplateFacts,
    results: Sequence[Mapping[str, Any]],
    kwargs: Mapping[str, Any],
    *,
    name: str | None = None,
    call_id: str | None = None,
    tools: Sequence[Any] | None = None,
) -> str | None:
    """What ``results`` add to the dummy, or None where its prefix does not hold or it does not render."""
    opening, named = dummy_conversation(facts, results, name=name, call_id=call_id)
    earlier = facts.render(opening, tools=tools, kwargs=kwargs)
    later = facts.render([*opening, *named], tools=tools, generation_prompt=True, kwargs=kwargs)
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


def holds_the_call(difference: DeltaDifference) -> bool:
    """Whether the real delta has values of the call that it answers: while its turn was last, it was not printed."""
    question = difference.question
    call = question.scenario.messages[question.earlier - 1]
    results = [message.get("content") for message in question.scenario.messages[question.earlier : question.later]]
    values = [text for text in _texts_of(call.get("tool_calls")) if not any(text in str(result) for result in results)]
    return any(text in difference.real and text not in difference.dummy for text in values)


def _texts_of(value: Any) -> list[str]:
    """The texts among the arguments of calls; keys, names and ids left out: the results have them too."""
    calls = value if isinstance(value, list) else []
    arguments = [call.get("function", {}).get("arguments") for call in calls if isinstance(call, dict)]
    texts = [
        text
        for mapping in arguments
        if isinstance(mapping, dict)
        for text in mapping.values()
        if isinstance(text, str) and len(text) > 2
    ]
    return [
        *texts,
        *(json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in texts for ascii_only in (True, False)),
    ]


def comes_from_tools(facts: TemplateFacts, difference: DeltaDifference) -> bool:
    """Whether the dummy with the real conversation's ``tools=`` gives the real delta."""
    question = difference.question
    scenario = question.scenario
    if scenario.tools is None:
        return False
    results = scenario.messages[question.earlier : question.later]
    return dummy_delta(facts, results, scenario.kwargs, tools=scenario.tools) == difference.real


def delta_cause(facts: TemplateFacts, difference: DeltaDifference) -> Cause | None:
    """The decision that makes the real delta differ: forced to the dummy's outcome, it gives the dummy's delta.

    Decisions are tried from the differing character backwards. None where no single one does.
    """
    question = difference.question
    scenario = question.scenario
    opening, named = dummy_conversation(facts, scenario.messages[question.earlier : question.later])
    real = facts.scenario_context(scenario, question.later, True)
    dummy = facts.context([*opening, *named], None, scenario.kwargs, True)
    real_trace, dummy_trace = facts.template.trace(real)[1], facts.template.trace(dummy)[1]
    start = len(question.earlier_outcome.text or "")
    dummy_start = sum(len(segment.text) for segment in dummy_trace.segments) - len(difference.dummy)
    last = {
        branch.occurrence[0]: branch.outcome
        for branch in dummy_trace.branches
        if branch.order < dummy_trace.order_at(dummy_start + difference.at)
    }
    at = real_trace.order_at(start + difference.at)
    before = [branch for branch in real_trace.branches if branch.order < at]
    for branch in before[:-_MOST_TRIED:-1]:
        site = facts.template.sites[branch.occurrence[0]]
        outcome = last.get(site.number)
        if outcome is None or outcome is branch.outcome:
            continue
        forced, _ = facts.template.trace(real, Trace(forced={branch.occurrence: outcome}))
        if forced.text is not None and forced.text[start:] == difference.dummy:
            place = place_of(site, facts.template.source_map)
            source = facts.template.source_map.text[site.start : site.end]
            return Cause("branch", site.number, place, source, outcome, branch.outcome, True)
    return None
