"""The capability card: what a template can render, decided by looking for a probe's words in its prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template_lint.facts.probes import ASK, CALL, CALL_ID, CALL_NAME, RESULT, SYSTEM, TOOL, TOOL_RESULT
from template_lint.facts.template_facts import EFFECT_PROBES, TemplateFacts
from template_lint.rendering.messages import REASONING_FIELDS

if TYPE_CHECKING:
    from template_lint.scenarios.model import Scenario

# What APIs and engines make up: OpenAI's, a UUID, and the nine letters and digits that some models insist on.
_IDS = ("call_0a1B2c3D4e5F6g7H8i9J0k", "3f2c7a9e-5b1d-4c8e-9a70-d2e6b4f81c35", "callTide1")
_EXCERPT = 80


def capabilities_of(facts: TemplateFacts) -> dict[str, Any]:
    """The card as JSON data; docs/card.md says what each key means. Nearly all comes from renders that exist."""
    probe = facts.tool_probe
    with_tools = facts.render([ASK], tools=[TOOL], generation_prompt=True).text or ""
    with_system_and_tools = facts.render([SYSTEM, ASK], tools=[TOOL], generation_prompt=True).text or ""
    calls = probe.call_name and probe.arguments
    reasoning = _shows_reasoning(facts)
    functions = facts.template.environment.globals
    return {
        "tools": CALL_NAME in with_tools or CALL_NAME in with_system_and_tools,
        "tool_calls": calls,
        "tool_results": probe.result,
        "parallel_tool_calls": calls and _parallel(facts),
        "call_shapes": _call_shapes(facts),
        "call_ids": _call_ids(facts),
        "system": _shows(facts, "system"),
        "developer": _shows(facts, "developer"),
        "reasoning": reasoning,
        "reasoning_keys": [key for key in REASONING_FIELDS if key in facts.static.attributes] if reasoning else [],
        "reasoning_retention": _retention(facts) if reasoning else None,
        "thinking_switches": sorted({name for setting in facts.static.switches() for name in setting}),
        "switch_effects": [_effect(facts, setting) for setting in facts.switches],
        "template_kwargs": [name for name in facts.static.kwargs if name not in functions],
        "generation_markers": facts.static.has_generation_tag,
    }


def _shows(facts: TemplateFacts, role: str) -> bool:
    message = {"role": role, "content": "zqinstruction"}
    return "zqinstruction" in (facts.render([message, ASK], generation_prompt=True).text or "")


def _shows_reasoning(facts: TemplateFacts) -> bool:
    reply = {"role": "assistant", "reasoning_content": "zqreasoning", "content": "zqreply"}
    return "zqreasoning" in (facts.render([ASK, reply]).text or "")


def _parallel(facts: TemplateFacts) -> bool:
    scenario = _scenario(facts, "parallel-calls")
    text = facts.render_scenario(scenario, 4, True).text
    if text is None:
        text = facts.render(scenario.messages[:4], generation_prompt=True).text or ""
    results = [str(message["content"]) for message in scenario.messages[2:4]]
    return all(result in text for result in results) and RESULT not in text


def _call_shapes(facts: TemplateFacts) -> list[dict[str, str]]:
    """The shapes of an assistant message with a call in which the call's arguments reach the prompt."""
    return [shape._asdict() for shape, probe in facts.tool_probes.items() if probe.failed is None and probe.arguments]


def _call_ids(facts: TemplateFacts) -> dict[str, Any]:
    """Whether call ids are in the prompt, and which kinds of id the template refuses (with its own words)."""
    if not facts.static.reads_tools:
        return {"in_prompt": False, "refused": None}
    refused = None
    for call_id in _IDS if "id" in facts.static.attributes or "tool_call_id" in facts.static.attributes else ():
        call = {**CALL, "tool_calls": [{**CALL["tool_calls"][0], "id": call_id}]}
        messages = [ASK, *facts.shape.apply([call]), {**TOOL_RESULT, "tool_call_id": call_id}]
        outcome = facts.render(messages, tools=[TOOL], generation_prompt=True)
        if outcome.refused:
            refused = {"example": call_id, "length": len(call_id), "message": outcome.message[:_EXCERPT]}
            break
    return {"in_prompt": facts.tool_probe.call_id and CALL_ID not in CALL_NAME, "refused": refused}


def _retention(facts: TemplateFacts) -> str:
    """``all`` (reasoning of earlier turns stays), ``tool_cycle`` (until the next user turn), or ``none``."""
    thought = "The tide table knows."
    later_turn = _scenario(facts, "after-user-turn-reasoning")
    if thought in (facts.render_scenario(later_turn, len(later_turn.messages), False).text or ""):
        return "all"
    cycle = _scenario(facts, "two-rounds-reasoning")
    if thought in (facts.render_scenario(cycle, 5, True).text or ""):
        return "tool_cycle"
    chat = _scenario(facts, "chat-reasoning")
    plain = str(chat.messages[1]["reasoning_content"])
    return "all" if plain in (facts.render_scenario(chat, 3, True).text or "") else "none"


def _effect(facts: TemplateFacts, setting: dict[str, Any]) -> dict[str, Any]:
    """What one setting of a switch changes: the prompt before a reply, that of a history, and how the prompt ends."""
    pairs = [
        (scenario, scenario.with_kwargs(setting)) for name in EFFECT_PROBES for scenario in [_scenario(facts, name)]
    ]
    name, value = next(iter(setting.items()))
    return {
        "switch": name,
        "value": value,
        "changes_prompt": any(_prompt(facts, plain) != _prompt(facts, switched) for plain, switched in pairs),
        "changes_history": any(_history(facts, plain) != _history(facts, switched) for plain, switched in pairs),
        "prompt_ends": _prompt(facts, pairs[0][1])[-_EXCERPT:],
    }


def _prompt(facts: TemplateFacts, scenario: Scenario) -> str:
    return facts.render_scenario(scenario, scenario.cuts[0], True).text or ""


def _history(facts: TemplateFacts, scenario: Scenario) -> str:
    return facts.render_scenario(scenario, len(scenario.messages), False).text or ""


def _scenario(facts: TemplateFacts, name: str) -> Scenario:
    return next(scenario for scenario in facts.scenarios if scenario.name == name and not scenario.own)
