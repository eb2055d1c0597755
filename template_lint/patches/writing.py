"""Laws of how a call is written: the shapes of arguments and content give one prompt, and the call parses back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from template_lint.facts.prefix import wants_generation_prompt
from template_lint.facts.shapes import Shape
from template_lint.patches.fresh import hard_arguments
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, Step, differing
from template_lint.rendering.template import Outcome
from template_lint.scenarios.catalogue import load_catalogue
from template_lint.scenarios.model import Scenario


def _with_calls() -> list[Scenario]:
    return [s for s in load_catalogue() if any(message.get("tool_calls") for message in s.messages)]


def _render(pair: Pair, scenario: Scenario, messages: list[dict[str, Any]]) -> Outcome:
    prompt = wants_generation_prompt(scenario, len(messages))
    return pair.candidate.render(messages, tools=scenario.tools, generation_prompt=prompt, kwargs=scenario.kwargs)


def arguments(pair: Pair) -> Iterator[Counterexample | None]:
    """Arguments as a mapping and as a JSON string give one prompt."""
    refused = None
    for scenario in [*_with_calls(), hard_arguments()]:
        mapping = _render(pair, scenario, scenario.messages)
        string = _render(pair, scenario, Shape("string", "string").apply(scenario.messages))
        if mapping.text is None and string.text is None:
            continue
        if string.refused:
            refused = f"refuses arguments as a JSON string: {string.message}"
            continue
        yield None
        count = len(scenario.messages)
        if mapping.text is None:
            yield Counterexample(scenario.name, count, 0, "", "", f"arguments as a mapping: {mapping.error}")
        yield from differing(scenario, count, mapping.text, string.text, "arguments as a JSON string")
    if refused is not None:
        raise NotApplicable(refused)


def null_content(pair: Pair) -> Iterator[Counterexample | None]:
    """Content that is empty, null or absent beside a call gives one prompt."""
    for scenario in _with_calls():
        empty = _render(pair, scenario, scenario.messages)
        if empty.text is None or not any(_is_empty(message) for message in scenario.messages):
            continue
        yield None
        absent = [_without_content(message) for message in scenario.messages]
        null = [{**message, "content": None} if _is_empty(message) else message for message in scenario.messages]
        count = len(scenario.messages)
        yield from differing(scenario, count, empty.text, _render(pair, scenario, null).text, "content null")
        yield from differing(scenario, count, empty.text, _render(pair, scenario, absent).text, "content absent")


def _is_empty(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_calls")) and message.get("content") == ""


def _without_content(message: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in message.items() if k != "content"} if _is_empty(message) else message


def parses_back(pair: Pair) -> Iterator[Counterexample | None]:
    """The call is in its turn, and its arguments parse back."""
    as_json = None
    for step in pair.original.steps:
        calls = step.scenario.messages[step.later - 1].get("tool_calls") or ()
        before = pair.candidate.render_scenario(step.scenario, step.earlier, False).text
        after = pair.candidate.render_scenario(step.scenario, step.later, False).text
        if before is None or after is None or step.scenario.own:
            continue
        turn = after[len(before) :] if after.startswith(before) else after
        for call in calls:
            name, wanted = call["function"]["name"], call["function"]["arguments"]
            wanted = json.loads(wanted) if isinstance(wanted, str) else wanted
            if as_json is None and wanted == {"port": "Vlissingen"}:
                as_json = wanted in _objects(turn) or _original_writes_json(pair, step, wanted)
            yield None
            if name not in turn:
                yield Counterexample(step.scenario.name, step.later, 0, name, turn, "the name of the call")
            elif as_json and wanted not in _objects(turn):
                yield Counterexample(step.scenario.name, step.later, 0, repr(wanted), turn, "the arguments")
            elif not as_json and not all(word in turn for word in _words(wanted)):
                yield Counterexample(step.scenario.name, step.later, 0, repr(wanted), turn, "the arguments as text")
    if as_json is None:
        raise NotApplicable("no conversation with a call renders")
    if not as_json:
        raise NotApplicable("arguments are not written as JSON; name and values are in the turn")


def _original_writes_json(pair: Pair, step: Step, wanted: Mapping[str, Any]) -> bool:
    return wanted in _objects(pair.facts.render_scenario(step.scenario, step.later, False).text or "")


def _objects(text: str) -> list[Any]:
    """Every JSON object that begins somewhere in a text."""
    decoder = json.JSONDecoder()
    found = []
    for at, character in enumerate(text):
        if character == "{":
            try:
                found.append(decoder.raw_decode(text, at)[0])
            except ValueError:
                continue
    return found


def _words(arguments: Mapping[str, Any]) -> list[str]:
    """Names and plain strings of arguments, which every grammar writes as they are."""
    strings = [value for value in arguments.values() if isinstance(value, str) and value.isalnum()]
    return [*arguments, *strings]
