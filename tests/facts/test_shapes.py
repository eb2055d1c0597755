"""The legal shapes of a message, and which one a template gets."""

from __future__ import annotations

import pytest

from template_lint.facts.divergences import divergences
from template_lint.facts.prefix import Appended
from template_lint.facts.shapes import SHAPES, Shape
from tests.facts.helper import END, STABLE, TURN, facts

CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {"k": "é", "n": [1, None]}}}],
}


def test_the_default_shape_shares_the_messages() -> None:
    messages = [{"role": "user", "content": ""}, CALL]
    assert Shape().apply(messages)[1] is CALL


def test_string_arguments() -> None:
    [shaped] = Shape("string", "string").apply([CALL])
    assert shaped["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"k": "é", "n": [1, null]}'}
    assert shaped["content"] == ""
    assert CALL["tool_calls"][0]["function"]["arguments"] == {"k": "é", "n": [1, None]}  # type: ignore[index]


def test_arguments_that_are_a_string_stay() -> None:
    call = {**CALL, "tool_calls": [{"function": {"name": "f", "arguments": '{"k": 1}'}}, {"function": None}]}
    assert Shape("string", "string").apply([call])[0]["tool_calls"] == call["tool_calls"]


def test_absent_content() -> None:
    [shaped] = Shape("mapping", "absent").apply([CALL])
    assert "content" not in shaped
    [kept] = Shape("mapping", "absent").apply([{**CALL, "content": "x"}])
    assert kept["content"] == "x"


def test_other_messages_are_untouched() -> None:
    user = {"role": "user", "content": ""}
    for shape in SHAPES:
        assert shape.apply([user])[0] is user


def test_words() -> None:
    assert [shape.describe() for shape in SHAPES] == [
        "arguments as a mapping, empty content",
        "arguments as a JSON string, empty content",
        "arguments as a mapping, no content key",
        "arguments as a JSON string, no content key",
    ]


STRING_ONLY = STABLE.replace("c.function.arguments|tojson", "'{' ~ c.function.arguments[1:]")
ABSENT_ONLY = STABLE.replace(
    "{{ m.content }}",
    "{% if m.tool_calls and m.content is defined and not m.content %}{{ raise_exception('empty content') }}{% endif %}"
    "{{ m.content }}",
)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (STABLE, Shape()),
        (STRING_ONLY, Shape("string", "string")),
        (ABSENT_ONLY, Shape("mapping", "absent")),
        (
            ABSENT_ONLY.replace("c.function.arguments|tojson", "'{' ~ c.function.arguments[1:]"),
            Shape("string", "absent"),
        ),
        ("{{ raise_exception('never') }}", Shape()),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", Shape()),
    ],
)
def test_the_shape_a_template_accepts(source: str, expected: Shape) -> None:
    assert facts(source).shape == expected


def test_a_template_that_refuses_mappings_is_still_asked() -> None:
    broken = STRING_ONLY.replace("<|end|>{% endfor %}", "{% if loop.last %}L{% endif %}<|end|>{% endfor %}")
    found = facts(broken)
    assert len(found.answered(Appended.TOOL)) == 24
    assert {divergence.cause.source for divergence in divergences(found, Appended.TOOL) if divergence.cause} == {
        "loop.last"
    }


def test_scenarios_share_shaped_messages() -> None:
    found = facts(STRING_ONLY)
    by_name = {scenario.name: scenario for scenario in found.scenarios}
    assert by_name["one-call"].messages[1] is by_name["one-call-no-tools"].messages[1]
    assert isinstance(by_name["one-call"].messages[1]["tool_calls"][0]["function"]["arguments"], str)


def test_switches_repeat_thinking_scenarios_only_where_they_have_an_effect() -> None:
    off = "{% if add_generation_prompt and enable_thinking is false %}<think></think>{% endif %}"
    names = {scenario.name for scenario in facts(STABLE + off).scenarios}
    assert "one-call[enable_thinking=false]" in names
    assert "one-call[enable_thinking=true]" not in names  # the default, spelled out
    assert "empty-arguments[enable_thinking=false]" not in names
    idle = facts(TURN + END + "{% if enable_thinking and false %}{% endif %}{{ tools }}")
    assert not any("[" in scenario.name for scenario in idle.scenarios)
