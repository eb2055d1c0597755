"""Prefix helpers, kinds of questions, and deltas against a dummy conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.facts.delta import delta_differences, dummy_delta
from template_lint.facts.prefix import (
    Appended,
    Question,
    appended_kind,
    common_prefix_length,
    common_suffix_length,
    wants_generation_prompt,
)
from template_lint.rendering.template import Outcome
from template_lint.scenarios.model import Scenario, natural_cuts
from tests.facts.helper import CALLS, END, PROMPT, STABLE, TURN, facts


@pytest.mark.parametrize(
    ("a", "b", "prefix", "suffix"),
    [("", "", 0, 0), ("abc", "abc", 3, 3), ("abc", "abd", 2, 0), ("xbc", "abc", 0, 2), ("ab", "abc", 2, 0),
     ("🎉a", "🎉b", 1, 0), ("aXb", "aYYb", 1, 1), ("a", "", 0, 0)],
)  # fmt: skip
def test_common_lengths(a: str, b: str, prefix: int, suffix: int) -> None:
    assert common_prefix_length(a, b) == common_prefix_length(b, a) == prefix
    assert common_suffix_length(a, b) == suffix


@given(st.text("ab🎉", max_size=40), st.text("ab🎉", max_size=40), st.text("ab", max_size=40))
def test_common_prefix_is_the_longest(a: str, b: str, shared: str) -> None:
    a, b = shared + a, shared + b
    length = common_prefix_length(a, b)
    assert a[:length] == b[:length]
    assert length >= len(shared)
    assert length == min(len(a), len(b)) or a[length] != b[length]


def scenario(*roles: str) -> Scenario:
    messages = [{"role": role, "content": "x"} for role in roles]
    return Scenario("s", "", messages, None, {}, natural_cuts(messages))


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["user", "assistant", "tool", "assistant"], [1, 2, 3, 4]),
        (["system", "user", "assistant"], [2, 3]),
        (["user", "assistant", "tool", "tool"], [1, 2, 4]),
        (["assistant", "user"], [1, 2]),
        (["user"], [1]),
        ([], []),
    ],
)
def test_natural_cuts(roles: list[str], expected: list[int]) -> None:
    assert [cut for cut in scenario(*roles).cuts if cut > 0] == expected


@pytest.mark.parametrize(
    ("roles", "earlier", "later", "expected"),
    [
        (["user", "assistant", "tool"], 2, 3, Appended.TOOL),
        (["user", "assistant", "tool", "tool"], 2, 4, Appended.TOOL),
        (["user", "assistant", "tool", "user"], 2, 4, Appended.USER),
        (["user", "assistant", "system", "user"], 2, 4, Appended.SYSTEM),
        (["user", "assistant", "developer"], 2, 3, Appended.SYSTEM),
        (["user", "assistant"], 1, 2, Appended.ASSISTANT),
        (["user", "assistant", "harbour"], 2, 3, Appended.OTHER),
    ],
)
def test_kinds(roles: list[str], earlier: int, later: int, expected: Appended) -> None:
    assert appended_kind(scenario(*roles), earlier, later) is expected


def test_a_prompt_waits_for_the_model_unless_it_has_answered() -> None:
    asked = scenario("user", "assistant", "tool")
    assert [wants_generation_prompt(asked, count) for count in (1, 2, 3)] == [True, False, True]


def test_question() -> None:
    asked = scenario("user", "assistant")
    holds = Question(asked, Appended.USER, 1, 2, Outcome("ab"), Outcome("abc"))
    assert (holds.answered, holds.holds, holds.delta) == (True, True, "c")
    breaks = Question(asked, Appended.USER, 1, 2, Outcome("ab"), Outcome("acb"))
    assert (breaks.answered, breaks.holds) == (True, False)
    failed = Question(asked, Appended.USER, 1, 2, Outcome("ab"), Outcome(None, "TypeError"))
    assert (failed.answered, failed.holds) == (False, False)


RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "measure", "content": "7"}


def test_dummy_delta() -> None:
    assert dummy_delta(facts(STABLE), [RESULT], {}) == "<|tool|>7<|end|><|assistant|>"


def test_dummy_delta_of_parallel_results() -> None:
    both = [RESULT, {**RESULT, "tool_call_id": "call00002", "content": "8"}]
    assert dummy_delta(facts(STABLE), both, {}) == "<|tool|>7<|end|><|tool|>8<|end|><|assistant|>"


def test_dummy_delta_carries_the_names_of_the_results() -> None:
    source = STABLE.replace("{{ m.content }}", "{{ m.name }}:{{ m.tool_call_id }}:{{ m.content }}")
    assert dummy_delta(facts(source), [RESULT], {}) == "<|tool|>measure:call00001:7<|end|><|assistant|>"
    placeholders = dummy_delta(facts(source), [RESULT], {}, name="dummy", call_id="dummyId00")
    assert placeholders == "<|tool|>dummy:dummyId00:7<|end|><|assistant|>"


def test_dummy_delta_passes_the_switches() -> None:
    source = STABLE + "{% if enable_thinking is false %}<nothink>{% endif %}"
    assert dummy_delta(facts(source), [RESULT], {"enable_thinking": False}) is None  # the suffix is no prefix
    source = TURN + "<|end|>{% endfor %}{% if add_generation_prompt %}<a>{% if fast_thinking %}!{% endif %}{% endif %}"
    assert dummy_delta(facts(source), [RESULT], {"fast_thinking": True}) == "<|tool|>7<|end|><a>!"


def test_no_dummy_delta_where_the_prefix_does_not_hold_or_nothing_renders() -> None:
    assert dummy_delta(facts(TURN + "{% if loop.last %}L{% endif %}" + END), [RESULT], {}) is None
    assert dummy_delta(facts("{{ raise_exception('no') }}"), [RESULT], {}) is None


def test_deltas_of_a_stable_template_are_equal() -> None:
    different, compared = delta_differences(facts(STABLE))
    assert different == []
    assert compared == 24


def test_a_delta_that_depends_on_the_round() -> None:
    # A flag set by the first result stays set: the second round opens its results otherwise.
    source = (
        "{{ tools }}{% set ns = namespace(seen=false) %}{% for m in messages %}{% if m.role == 'tool' %}"
        "{% if ns.seen %}<again>{% else %}<first>{% endif %}{% set ns.seen = true %}{{ m.content }}"
        "{% else %}<|{{ m.role }}|>{{ m.content }}" + CALLS + "{% endif %}{% endfor %}" + PROMPT
    )
    different, compared = delta_differences(facts(source))
    assert compared == 24
    names = [difference.question.scenario.name for difference in different]
    assert "two-rounds" in names
    assert "three-rounds" in names
    assert "one-call" not in names
    first = different[names.index("two-rounds")]
    assert (first.real[first.at :][:5], first.dummy[first.at :][:5]) == ("again", "first")
    assert first.question.earlier == 4
