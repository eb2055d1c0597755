"""Laws that compare the candidate with the original: the model must read what it has always read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_suffix_length
from template_lint.facts.static import SPECIAL_TOKEN_NAMES, SUPPLIED
from template_lint.patches.pair import Counterexample, Pair, Step, differing, has_reply, rest_after
from template_lint.scenarios.catalogue import catalogue_tools
from template_lint.scenarios.model import Scenario

_MOST_WORDS = 2
_ASK = {"role": "user", "content": "When is high water in Vlissingen?"}
_FRESH: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("fresh", [_ASK]),
    ("fresh-system", [{"role": "system", "content": "You are the harbour assistant."}, _ASK]),
    ("fresh-empty-system", [{"role": "system", "content": ""}, _ASK]),
    ("fresh-developer", [{"role": "developer", "content": "Answer in one sentence."}, _ASK]),
    ("fresh-parts", [{"role": "user", "content": [{"type": "text", "text": "When is high water?"}]}]),
    ("fresh-spaces", [{"role": "user", "content": "  two spaces and a newline\n"}]),
)


def _fresh_scenarios(pair: Pair) -> list[Scenario]:
    settings: list[Mapping[str, Any]] = [{}, *pair.facts.static.switches(), *_other_settings(pair.facts)]
    found = []
    for name, messages in _FRESH:
        for suffix, tools in (("", None), ("-tools", catalogue_tools())):
            scenario = Scenario(name + suffix, "", messages, tools, {}, [len(messages)])
            found += [scenario.with_kwargs(setting) if setting else scenario for setting in settings]
    return found


def _other_settings(facts: TemplateFacts) -> list[Mapping[str, Any]]:
    """Template kwargs that are no thinking switches: a drop-in obeys them too.

    Each is set to true, to false and to what the template compares it with, or a word.
    """
    known = {*SUPPLIED, *SPECIAL_TOKEN_NAMES, *facts.template.environment.globals}
    known |= {name for setting in facts.static.switches() for name in setting}
    settings: list[Mapping[str, Any]] = []
    for name in sorted(set(facts.static.free) - known):
        words = [value for value in facts.static.compared.get(name, []) if isinstance(value, str)]
        settings += [{name: value} for value in (True, False, *(words[:_MOST_WORDS] or ["zqvalue"]))]
    return settings


def first_prompt(pair: Pair) -> Iterator[Counterexample | None]:
    """Before any assistant turn, the prompt with the generation prompt is byte-identical."""
    for scenario in [*pair.original.scenarios, *_fresh_scenarios(pair)]:
        for count in scenario.cuts:
            if not has_reply(scenario, count):
                yield None
                expected, found = pair.texts(scenario, count, True)
                yield from differing(scenario, count, expected, found, "prompt before the first reply")


def as_last(pair: Pair) -> Iterator[Counterexample | None]:
    """The messages that a step adds render as the original renders them last; the first reply with all before it."""
    for step in pair.original.steps:
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
