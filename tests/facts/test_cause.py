"""Causes on small templates: which branch or printed piece it is, that it is proven, that nothing false is proven."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from template_lint.facts.cause import find_cause
from template_lint.facts.divergences import divergences
from template_lint.facts.lookaheads import lookaheads, suspects
from template_lint.facts.prefix import Appended
from template_lint.rendering.template import ChatTemplate
from tests.facts.helper import (
    CALLS,
    END,
    PROFILE,
    PROMPT,
    SCANNED_RESULTS,
    STABLE,
    TOOLS,
    TURN,
    causes,
    facts,
    summary,
)

LAST_REPLY = "messages[-1].role == 'assistant'"


def test_a_stable_template_has_no_divergence() -> None:
    for appended in Appended:
        if appended is not Appended.ASSISTANT:
            assert causes(STABLE, appended) == {}


BRANCHES = {
    "if": (TURN + "{% if loop.last %}</s>{% endif %}" + END, "loop.last", True, False),
    "if-not": (TURN + "{% if not loop.last %}</s>{% endif %}" + END, "not loop.last", False, True),
    "elif": (
        TURN + "{% if m.role == 'user' %}U{% elif loop.last %}L{% else %}E{% endif %}" + END,
        "loop.last", True, False,
    ),
    "inline-if": (TURN + "{{ 'L' if " + LAST_REPLY + " else 'E' }}" + END, LAST_REPLY, True, False),
    "inline-if-without-else": (TURN + "{{ 'L' if loop.nextitem is not defined }}" + END,
                               "loop.nextitem is not defined", True, False),
    "inline-if-in-set": ("{% for m in messages %}{% set t = 'A' if loop.last else 'B' %}<{{ m.role }}>{{ m.content }}"
                         + CALLS + "{{ t }}" + END, "loop.last", True, False),
    "inline-if-in-call": (TURN + "{{ ('A' if loop.last else 'B')|lower }}" + END, "loop.last", True, False),
    "loop-filter": (
        TURN.replace(
            "in messages %}", "in messages if not (m.role == 'assistant' and messages[-1].role == 'tool') %}"
        ) + END,
        "not (m.role == 'assistant' and messages[-1].role == 'tool')", True, False,
    ),
    "in-a-macro": (
        "{% macro close(last) %}{% if last %}</s>{% endif %}<|end|>{% endmacro %}"
        + TURN + "{{ close(loop.last) }}{% endfor %}" + PROMPT, "last", True, False,
    ),
    "in-a-set-block": (
        TURN + "{% set x %}{% if loop.last %}Z{% endif %}{% endset %}{{ x }}" + END, "loop.last", True, False,
    ),
    "whole-prompt": (
        TOOLS + "{% if messages[-1].role == 'tool' %}{% for m in messages %}T{{ m.content }}{% endfor %}{% else %}"
        "{% for m in messages %}E{{ m.content }}" + CALLS + "{% endfor %}{% endif %}",
        "messages[-1].role == 'tool'", False, True,
    ),
    "through-a-namespace": (
        "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'tool' %}"
        "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}"
        + TURN + "{% if m.role == 'assistant' and loop.index0 > ns.last %}T{% endif %}" + END,
        "m.role == 'assistant' and loop.index0 > ns.last", True, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_branches(name: str) -> None:
    source, condition, earlier, later = BRANCHES[name]
    found = causes(source)
    assert summary(found["one-call"]) == ("branch", condition, earlier, later, True)
    # Every scenario that breaks breaks for this reason.
    assert {cause.source for cause in found.values() if cause} == {condition}


def test_the_place_is_line_and_column() -> None:
    source = TURN + "\n  {%- if loop.last %}</s>{% endif %}" + END
    cause = causes(source)["one-call"]
    assert cause is not None
    assert (cause.place.line, cause.place.column, cause.place.end_line, cause.place.end_column) == (2, 10, 2, 19)
    assert source[cause.place.offset : cause.place.end_offset] == "loop.last"
    assert cause.key == ("branch", source.index("loop.last"))


OUTPUTS = {
    "end-of-text-unless-asked": (
        TURN + "<|end|>{% endfor %}{% if not add_generation_prompt %}</s>{% endif %}" + PROMPT, "</s>",
    ),
    "end-of-text-else": (
        TURN + "<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% else %}</s>{% endif %}", "</s>",
    ),
}  # fmt: skip

MOVING = {
    "end-of-text": (TURN + "<|end|>{% endfor %}</s>" + PROMPT, "</s>"),
    "end-of-text-variable": (TURN + "<|end|>{% endfor %}{{ eos_token }}" + PROMPT, "eos_token"),
    "always-a-header": (TURN + "<|end|>{% endfor %}<|assistant|>", "<|assistant|>"),
    "always-two-pieces": (TURN + "<|end|>{% endfor %}{{ '<a>' }}{{ '<b>' }}", "'<a>'"),
    "end-of-text-before-a-tool-that-is-written-apart": (
        "{% for m in messages %}{% if m.role == 'tool' %}<tool>{{ m.content }}</tool>{% else %}<|{{ m.role }}|>"
        "{{ m.content }}" + CALLS + "<|end|>{% endif %}{% endfor %}</s>" + PROMPT, "</s>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_pieces_that_only_one_render_has(name: str) -> None:
    source, piece = OUTPUTS[name]
    assert summary(causes(source)["one-call"]) == ("output", piece, True, False, True)


@pytest.mark.parametrize("name", MOVING)
def test_pieces_that_stand_behind_every_last_message(name: str) -> None:
    source, piece = MOVING[name]
    cause = causes(source)["one-call"]
    assert summary(cause) == ("output", piece, True, True, True)
    assert cause is not None
    assert cause.moves


def test_a_call_whose_words_only_the_later_render_prints_is_not_taken_for_the_history() -> None:
    # The reply is a call without content: taking it away restores the prompt, and explains nothing.
    source = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}"
        "{{ '<call>' ~ m.tool_calls[0].function.arguments|tojson }}{{ '</call>' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}<think></think>"
    )
    cause = causes(source, Appended.ASSISTANT)["one-call"]
    assert summary(cause) == ("output", "<think></think>", True, True, True)


def test_a_condition_that_only_one_render_asks_has_no_outcome_in_the_other() -> None:
    source = (
        "{% for m in messages if m.role != 'tool' %}<|{{ m.role }}|>"
        + CALLS
        + "{% for later in messages[loop.index:] %}"
        "{% if m.role == 'assistant' and later.role == 'tool' %}({{ later.name }}:{{ later.content }}){% endif %}"
        "{% endfor %}{{ m.content }}" + END
    )
    assert summary(causes(source)["call-with-content"]) == (
        "branch", "m.role == 'assistant' and later.role == 'tool'", None, True, True,
    )  # fmt: skip


def test_a_piece_that_only_the_later_render_has() -> None:
    source = TURN + "{{ loop.nextitem|default('') }}" + END
    assert summary(causes(source)["call-with-content"]) == ("output", "loop.nextitem|default('')", False, True, True)


def test_a_condition_that_only_the_later_render_reaches_has_no_outcome_before() -> None:
    cause = causes(SCANNED_RESULTS)["call-with-content"]
    assert summary(cause) == ("branch", "all[k].role != 'tool'", None, False, True)


def test_a_condition_on_the_generation_prompt_explains_nothing() -> None:
    # Forcing it would restore the prefix, but it is the question itself that changes the variable.
    source, _ = OUTPUTS["end-of-text-else"]
    assert "add_generation_prompt" not in {cause.source for cause in causes(source).values() if cause}


def test_a_condition_on_the_generation_prompt_that_decides_about_a_message_is_a_cause() -> None:
    condition = "message.reasoning_content and not add_generation_prompt"
    source = TURN + "{% set message = m %}{% if " + condition + " %}{{ m.reasoning_content }}{% endif %}" + END
    assert summary(causes(source)["call-with-reasoning"]) == ("branch", condition, True, False, True)


def test_two_conditions_that_must_change_together() -> None:
    source = (
        TURN + "{% if loop.last %}A{% endif %}<|end|>"
        "{% if messages[-1].role != 'tool' and m.role == 'assistant' %}B{% endif %}"
        "{% endfor %}" + PROMPT
    )
    kind, condition, *_, proven = summary(causes(source)["call-with-content"])
    assert (kind, proven) == ("combination", True)
    assert condition in ("loop.last", "messages[-1].role != 'tool' and m.role == 'assistant'")


def test_of_two_conditions_the_one_that_makes_the_first_difference_is_named() -> None:
    # The other one alone makes a difference in most scenarios, and is known when this pair is looked for.
    source = (
        TURN.replace("{{ m.content }}", "{% if m.reasoning_content and loop.last %}A{% endif %}{{ m.content }}")
        + "{% if m.role == 'assistant' and messages[-1] is sameas m %}B{% endif %}"
        + END
    )
    found = causes(source)
    assert summary(found["one-call"])[:2] == ("branch", "m.role == 'assistant' and messages[-1] is sameas m")
    assert summary(found["call-with-reasoning"])[:2] == ("combination", "m.reasoning_content and loop.last")


def test_a_condition_besides_an_end_of_text_that_only_the_last_turn_has() -> None:
    condition = "m.role == 'assistant' and loop.last"
    source = TURN + "{% if " + condition + " %}A{% endif %}<|end|>{% endfor %}"
    source += "{% if add_generation_prompt %}<|assistant|>{% else %}</s>{% endif %}"
    assert summary(causes(source)["one-call"]) == ("combination", condition, True, False, True)


def test_many_conditions_that_must_change_together() -> None:
    letters = "ABCDEF"
    conditions = "".join(f"{{% if loop.last and '{letter}' %}}{letter}{{% endif %}}-" for letter in letters)
    cause = causes(TURN + conditions + END)["call-with-content"]
    assert cause is not None
    assert cause.kind == "combination"
    assert cause.source.startswith("loop.last and ")


SUSPECTED = {
    "number": (TURN.replace("{{ m.content }}", "{{ m.content ~ messages|length }}") + END, "messages|length"),
    "count": (TURN + "{{ messages|length }}" + END, "messages|length"),
    "through-set": ("{% set n = messages|length %}" + TURN + "{{ n }}" + END, "messages|length"),
    "revindex": (TURN + "{{ loop.revindex }}" + END, "loop.revindex"),
    "last-role": (TURN + "{{ messages[-1].role }}" + END, "messages[-1].role"),
    "last-filter": (TURN + "{{ (messages|last).role }}" + END, "messages|last"),
    "slice": (TURN + "{{ messages[1:]|map(attribute='role')|join }}" + END, "messages[1:]|map(attribute='role')|join"),
}


@pytest.mark.parametrize("name", SUSPECTED)
def test_values_that_look_ahead_are_suspected(name: str) -> None:
    source, expression = SUSPECTED[name]
    kind, found, earlier, later, proven = summary(causes(source)["call-with-content"])
    assert (kind, earlier, later, proven) == ("suspected", None, None, False)
    assert found == expression


def test_nothing_to_suspect() -> None:
    source = "{% set n = namespace(s='') %}{% for m in messages %}{% set n.s = m.role ~ m.content ~ n.s %}{% endfor %}"
    assert causes(source + "{{ n.s }}{{ tools }}")["one-call"] is None


TEMPTING = {
    # Without its last pieces the earlier render is a prefix; but the later one prints these pieces too.
    "value-before-the-end": TURN + "{% if m.role == 'assistant' %}{{ messages|length }}{% endif %}" + END,
    "value-then-more": TURN + "{% if m.role == 'assistant' %}{{ messages|length }}!{% endif %}?" + END,
    "whole-turn": "{% for m in messages %}{% if m.role == 'assistant' %}{{ messages|length }}{% endif %}"
    "<|{{ m.role }}|>{{ m.content }}" + CALLS + END,
    # Not printing the earlier conversation at all makes it a prefix of everything.
    "all-or-nothing": TOOLS + "{% set all = messages|map(attribute='content')|join('|') ~ messages|length %}"
    "{% if messages[-1].role == 'assistant' %}{{ all }}{% endif %}"
    "{% if messages[-1].role != 'assistant' %}X{{ all }}{% endif %}",
    "hidden-behind-a-branch": TOOLS + "{% if messages|length < 3 %}{% for m in messages %}"
    "{{ m.content ~ messages|length }}{% endfor %}{% endif %}"
    "{% if messages|length > 2 %}{{ messages|length }}{% endif %}",
}  # fmt: skip


@pytest.mark.parametrize("name", TEMPTING)
@pytest.mark.parametrize("scenario", ["one-call", "call-with-content", "two-rounds", "parallel-calls"])
def test_cutting_the_earlier_render_off_is_no_proof(name: str, scenario: str) -> None:
    cause = causes(TEMPTING[name])[scenario]
    assert cause is None or not cause.proven, cause


@pytest.mark.parametrize("name", BRANCHES)
def test_what_is_proven_really_restores_the_prefix(name: str) -> None:
    # Repair the source by hand at the place that was named: the condition becomes a constant.
    source = BRANCHES[name][0]
    if name in ("in-a-macro", "loop-filter", "whole-prompt"):
        pytest.skip("the constant would change the prompt itself")
    cause = causes(source)["one-call"]
    assert cause is not None
    repaired = source[: cause.place.offset] + "false" + source[cause.place.end_offset :]
    assert causes(repaired) == {}


def test_the_remembered_suspicion_is_that_of_the_same_place() -> None:
    found = causes(TURN + "{{ messages|length }}" + END)
    assert len({id(cause) for cause in found.values()}) == 1


def test_two_defects_are_two_causes() -> None:
    source = (
        TURN + "{% if m.role == 'assistant' and m.content and loop.last %}C{% endif %}<|end|>{% endfor %}"
        "{% if messages[-1].role == 'assistant' and not messages[-1].content %}</s>{% endif %}" + PROMPT
    )
    found = causes(source)
    assert {cause.source for cause in found.values() if cause} == {
        "m.role == 'assistant' and m.content and loop.last",
        "messages[-1].role == 'assistant' and not messages[-1].content",
    }
    assert summary(found["call-with-content"])[1] == "m.role == 'assistant' and m.content and loop.last"
    assert summary(found["one-call"])[1] == "messages[-1].role == 'assistant' and not messages[-1].content"


def test_find_cause_by_itself() -> None:
    template = ChatTemplate("{% for m in messages %}{{ m }}{% if loop.last %}.{% endif %}{% endfor %}", PROFILE)
    contexts = {"messages": ["a"]}, {"messages": ["a", "b"]}
    cause = find_cause(template, contexts, ("a.", "ab."))
    assert summary(cause) == ("branch", "loop.last", True, False, True)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ loop.last }}{{ loop.first }}{{ x.last }}", ["loop.last"]),
        ("{{ messages[-1] }}{{ messages[0] }}{{ messages[i] }}", ["messages[-1]"]),
        ("{{ messages[loop.index0 + 1].role }}", ["messages[loop.index0 + 1].role"]),
        ("{{ messages|length }}{{ messages|first }}{{ messages|count }}", ["messages|length", "messages|count"]),
        ("{{ messages[1:] }}{{ messages|reverse|list }}", ["messages[1:]", "messages|reverse|list"]),
        ("{{ loop.revindex0 }}{{ loop.nextitem }}{{ loop.previtem }}", ["loop.revindex0", "loop.nextitem"]),
    ],
)  # fmt: skip
def test_lookaheads(source: str, expected: list[str]) -> None:
    template = ChatTemplate(source, PROFILE)
    text = template.source_map.text
    found = [template.source_map.expression_range(node) for node in lookaheads(template.tree)]
    assert [text[start:end] for start, end in found] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for t in tools %}{{ loop.last }}{% endfor %}{% for m in messages %}{{ loop.last }}{% endfor %}", 1),
        ("{% for m in messages %}{% for c in m.tool_calls %}{{ loop.last }}{% endfor %}{% endfor %}", 0),
        ("{% for m in messages if m.role %}{% for c in m.tool_calls %}{% endfor %}{{ loop.last }}{% endfor %}", 1),
        ("{% for m in loop_messages | list %}{{ loop.nextitem }}{% endfor %}", 1),
        ("{% set rest = messages[1:] if messages | length > 0 else messages %}{{ messages[1:] }}", 1),
        ("{% for m in messages[1:] %}{% endfor %}{{ messages | length }}", 1),
        (
            "{% for t in tools %}{% set keys = t.function.parameters.properties | list %}"
            "{% for k in keys %}{{ k if loop.last }}{% endfor %}{% endfor %}",
            0,
        ),
        (
            "{% set ns = namespace(all=messages) %}{% set turns = ns.all %}"
            "{% for m in turns %}{{ m.role if loop.last }}{% endfor %}",
            1,
        ),
    ],
)
def test_only_what_a_later_message_can_change_is_suspected(source: str, expected: int) -> None:
    assert len(list(suspects(ChatTemplate(source, PROFILE).tree))) == expected


def test_names_that_are_set_from_each_other_are_followed_once() -> None:
    names = [f"a{number}" for number in range(5_000)]
    chain = "".join(f"{{% set {one} = {other} %}}" for one, other in pairwise([*names, "messages"]))
    source = chain + "{% for m in a0 %}{{ loop.last }}{% endfor %}"
    tree = ChatTemplate(source, PROFILE).tree
    started = time.process_time()
    assert len(list(suspects(tree))) == 1
    assert time.process_time() - started < 3  # it takes 0.1, and 9 where each name is asked of each


def test_causes_are_found_once_for_equal_divergences(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = facts(TURN + "{% if loop.last %}</s>{% endif %}" + END)
    found = divergences(searched, Appended.TOOL)
    assert len(found) > 15
    assert len({id(divergence.cause) for divergence in found}) < len(found)
