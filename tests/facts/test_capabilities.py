"""The capability card: each line of it is decided by renders."""

from __future__ import annotations

import pytest

from template_lint.facts.capabilities import capabilities_of
from tests.facts.helper import CALLS, END, STABLE, TURN, facts

CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + END


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (STABLE, {"tools", "tool_calls", "tool_results", "parallel_tool_calls", "system", "developer"}),
        (CHAT, {"tool_results", "system", "developer"}),
        (CHAT + "{{ tools|tojson if tools }}", {"tools", "tool_results", "system", "developer"}),
        (TURN + END, {"tool_calls", "tool_results", "parallel_tool_calls", "system", "developer"}),
        (STABLE.replace("{{ m.content }}", "{{ m.content if m.role != 'tool' }}"),
         {"tools", "tool_calls", "system", "developer"}),
        (STABLE.replace("{{ m.content }}", "{{ m.content if m.role != 'system' }}"),
         {"tools", "tool_calls", "tool_results", "parallel_tool_calls", "developer"}),
        (STABLE.replace("{{ m.content }}", "{{ raise_exception('role') if m.role == 'developer' }}{{ m.content }}"),
         {"tools", "tool_calls", "tool_results", "parallel_tool_calls", "system"}),
        (STABLE.replace("{{ m.content }}", "{{ m.reasoning_content }}{{ m.content }}"),
         {"tools", "tool_calls", "tool_results", "parallel_tool_calls", "system", "developer", "reasoning"}),
        (STABLE.replace("<|end|>", "{% generation %}<|end|>{% endgeneration %}"),
         {"tools", "tool_calls", "tool_results", "parallel_tool_calls", "system", "developer", "generation_markers"}),
        (STABLE.replace(CALLS, "{% for c in m.tool_calls or [] %}{{ c.function.name }}{% endfor %}"),
         {"tools", "tool_results", "system", "developer"}),
    ],
)  # fmt: skip
def test_capabilities(source: str, expected: set[str]) -> None:
    card = capabilities_of(facts(source))
    assert {name for name, value in card.items() if value is True} == expected
    assert card["thinking_switches"] == []


def test_thinking_switches_are_named() -> None:
    source = STABLE + "{% if add_generation_prompt and (enable_thinking or reasoning_effort == 'high') %}T{% endif %}"
    assert capabilities_of(facts(source))["thinking_switches"] == ["enable_thinking", "reasoning_effort"]


def test_a_switch_that_counts_only_once_a_user_turn_follows_changes_the_history() -> None:
    keep = "{% set drop = drop_thinking if drop_thinking is defined else true %}"
    card = capabilities_of(facts(keep + REASONED.replace("KEEP", "not drop or loop.index0 > ns.last")))
    [effect] = card["switch_effects"]
    assert (effect["switch"], effect["value"]) == ("drop_thinking", False)
    assert effect["changes_history"] and not effect["changes_prompt"]


@pytest.mark.parametrize(
    "default",
    [
        "{% if not thinking is defined %}{% set thinking = false %}{% endif %}",
        "{% set thinking = thinking | default(false) %}",
        "{% set thinking = thinking if thinking is defined else false %}",
        "{% set thinking = thinking or false %}",
    ],
)
def test_a_kwarg_with_a_default_of_the_template_is_on_the_card(default: str) -> None:
    card = capabilities_of(facts(default + STABLE + "{% if add_generation_prompt and thinking %}<think>{% endif %}"))
    assert card["template_kwargs"] == card["thinking_switches"] == ["thinking"]
    [effect] = card["switch_effects"]
    assert (effect["switch"], effect["value"]) == ("thinking", True)
    assert effect["prompt_ends"].endswith("<think>")


def test_parallel_calls_are_asked_as_results_are_where_tools_crash() -> None:
    crash = "{% if tools %}{{ raise_exception('no schemas') }}{% endif %}"
    card = capabilities_of(facts(crash + STABLE))
    assert card["tool_results"] and card["parallel_tool_calls"] and not card["tools"]


LAST_USER = (
    "{% set ns = namespace(last=0) %}"
    "{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
)
REASONED = LAST_USER + STABLE.replace(
    "{{ m.content }}", "{% if KEEP %}{{ m.reasoning_content }}{% endif %}{{ m.content }}"
)


@pytest.mark.parametrize(
    ("keep", "retention"),
    [
        ("true", "all"),
        ("loop.index0 > ns.last", "tool_cycle"),
        ("loop.last", "none"),
    ],
)
def test_how_long_reasoning_stays(keep: str, retention: str) -> None:
    card = capabilities_of(facts(REASONED.replace("KEEP", keep)))
    assert card["reasoning_keys"] == ["reasoning_content"]
    assert card["reasoning_retention"] == retention


def test_without_reasoning_there_is_nothing_to_keep() -> None:
    card = capabilities_of(facts(STABLE))
    assert card["reasoning_keys"] == []
    assert card["reasoning_retention"] is None


def test_an_id_of_the_wrong_length_is_refused_in_the_words_of_the_template() -> None:
    refuse = "{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ raise_exception('nine!') }}{% endif %}"
    card = capabilities_of(facts(STABLE.replace("{{ m.content }}", refuse + "{{ c.id }}{% endfor %}{{ m.content }}")))
    assert card["call_ids"]["in_prompt"]
    assert card["call_ids"]["refused"]["message"] == "nine!"
    assert card["call_ids"]["refused"]["length"] != 9
    assert capabilities_of(facts(STABLE))["call_ids"] == {"in_prompt": False, "refused": None}


def test_call_shapes_are_those_whose_arguments_reach_the_prompt() -> None:
    mapping_only = STABLE.replace("c.function.arguments|tojson", "c.function.arguments.items()|list")
    shapes = capabilities_of(facts(mapping_only))["call_shapes"]
    assert {shape["arguments"] for shape in shapes} == {"mapping"}
    assert {shape["empty"] for shape in shapes} == {"string", "absent"}


def test_a_switch_is_told_by_what_it_changes() -> None:
    switch = "{% if add_generation_prompt and enable_thinking is false %}<think></think>{% endif %}"
    card = capabilities_of(facts(STABLE + switch))
    assert card["template_kwargs"] == ["enable_thinking"]
    [effect] = card["switch_effects"]
    assert (effect["switch"], effect["value"]) == ("enable_thinking", False)
    assert effect["changes_prompt"] and not effect["changes_history"]
    assert effect["prompt_ends"].endswith("<|assistant|><think></think>")
