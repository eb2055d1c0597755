"""Laws that compare the candidate with the original: the model must read what it has always read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from template_lint.facts.prefix import common_suffix_length
from template_lint.patches.fresh import fresh_scenarios, reply_scenarios
from template_lint.patches.pair import Counterexample, Pair, Step, differing, has_reply, rest_after


def first_prompt(pair: Pair) -> Iterator[Counterexample | None]:
    """Before any assistant turn, the prompt with the generation prompt is byte-identical."""
    for scenario in [*pair.original.scenarios, *fresh_scenarios(pair.facts)]:
        for count in scenario.cuts:
            if not has_reply(scenario, count):
                yield None
                expected, found = pair.texts(scenario, count, True)
                yield from differing(scenario, count, expected, found, "prompt before the first reply")


def as_last(pair: Pair) -> Iterator[Counterexample | None]:
    """The messages that a step adds render as the original renders them last; the first reply with all before it."""
    for step in [*pair.original.steps, *[Step(scenario, *scenario.cuts) for scenario in reply_scenarios()]]:
        expected, found = pair.texts(step.scenario, step.later)
        if expected is None:
            continue
        yield None
        if expected == found or (found is not None and not _must_be_whole(step) and _adds_the_same(pair, step)):
            continue
        what = "reply" if step.appends_reply else "messages"
        yield from differing(step.scenario, step.later, expected, found, f"last {what} as the model saw it")


def _must_be_whole(step: Step) -> bool:
    return step.fresh and step.appends_reply


def _adds_the_same(pair: Pair, step: Step) -> bool:
    """Whether the candidate adds to its history what the original adds to its own.

    Where the original rewrites its history, so that what it adds has no beginning, it must end with what the candidate
    adds. Where the candidate rewrites its own too, both must end alike, with all the added messages say.
    """
    bases = pair.texts(step.scenario, step.earlier, False)
    wholes = pair.texts(step.scenario, step.later)
    expected, found = rest_after(bases[0], wholes[0]), rest_after(bases[1], wholes[1])
    assert wholes[0] is not None and wholes[1] is not None
    if expected is not None and found is not None:
        return expected == found
    if found:
        return wholes[0].endswith(found)
    if expected:
        return wholes[1].endswith(expected)
    length = common_suffix_length(wholes[0], wholes[1])
    return all(word in wholes[0][len(wholes[0]) - length :] for word in _words(step))


def _words(step: Step) -> Sequence[str]:
    new = step.scenario.messages[step.earlier : step.later]
    contents = [message["content"] for message in new if isinstance(message.get("content"), str)]
    return [*contents, *[call["function"]["name"] for message in new for call in message.get("tool_calls") or ()]]


def unchanged(pair: Pair) -> Iterator[Counterexample | None]:
    """Up to the first question that the original fails, nothing changes."""
    consistent = pair.original.consistent_counts
    for scenario in pair.original.scenarios:
        for count in consistent[scenario.name]:
            yield None
            yield from differing(scenario, count, *pair.texts(scenario, count), "consistent in the original")
