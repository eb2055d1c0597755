"""What the syntax tree says: names, attributes, strings, switches."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.facts.static import StaticFacts, analyse
from template_lint.rendering.template import ChatTemplate
from tests.facts.helper import PROFILE


def static(source: str) -> StaticFacts:
    return analyse(ChatTemplate(source, PROFILE).tree)


def test_free_names_are_those_never_set() -> None:
    source = (
        "{% set a = b %}{% for c, d in e %}{{ c }}{{ loop.index }}{% endfor %}"
        "{% macro f(g, h=i) %}{{ g }}{{ caller() }}"
        "{% endmacro %}{{ f(j) }}{% with k = l %}{{ k }}{% endwith %}{% set m.n = 1 %}{% set o %}{{ p }}{% endset %}"
    )
    found = static(source)
    assert set(found.free) == {"b", "e", "i", "j", "l", "p"}
    assert {"a", "c", "d", "f", "g", "h", "k", "o", "loop", "caller"} <= found.assigned


def test_every_read_of_a_free_name_is_there() -> None:
    assert len(static("{{ x }}{% if x %}{{ x.y }}{% endif %}").free["x"]) == 3


def test_attributes_and_strings() -> None:
    found = static("{{ m.role }}{{ m['content'] }}{{ m[0] }}{{ m[k] }}{{ 'text' ~ \"more\" }}")
    assert found.attributes == {"role", "content"}
    assert found.strings == {"content", "text", "more"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% generation %}x{% endgeneration %}", True),
        ("{%- generation -%}x{%- endgeneration -%}", True),
        ("{{ generation }}{# {% generation %} #}{% raw %}{% generation %}{% endraw %}", False),
        ("{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}x{% endcall %}", False),
    ],
)
def test_generation_tag(source: str, expected: bool) -> None:
    assert static(source).has_generation_tag is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ tools }}", True),
        ("{{ m.tool_calls }}", True),
        ("{{ m['tool_calls'] }}", True),
        ("{{ 'tool_calls' in m }}", True),
        ("{{ m.content }}{{ m.role == 'tool' }}", False),
        ("{% set tools = [] %}{{ tools }}", False),
        ("{% if mine %}{% set tools = mine %}{% endif %}{{ tools }}", True),
        (
            "{% if b %}{% set tools = b %}{% elif a %}{% set tools = a %}{% else %}{% set tools = [] %}{% endif %}"
            "{{ tools }}",
            False,
        ),
        ("{% for m in messages %}{% if m.t %}{% set tools = m.t %}{{ tools }}{% endif %}{% endfor %}", False),
        ("{% for m in messages %}{% set tools = m.t %}{% endfor %}{{ tools }}", True),
        (
            "{% if a %}{% if b %}{% set tools = b %}{% endif %}{% else %}{% set tools = [] %}{% endif %}{{ tools }}",
            False,
        ),
        ("{% set tools = tools or [] %}{{ tools }}", True),
        ("{% for tools in messages %}{{ tools }}{% endfor %}", False),
        ("{% macro f(tools) %}{{ tools }}{% endmacro %}{{ f(messages) }}", False),
        ("{% macro f(tools) %}{{ tools }}{% endmacro %}{{ f(tools) }}", True),
        ("{% with tools = messages %}{{ tools }}{% endwith %}", False),
        ("{% set tools %}{{ messages }}{% endset %}{% filter trim %}{{ tools }}{% endfilter %}", False),
    ],
)
def test_reads_tools(source: str, expected: bool) -> None:
    assert static(source).reads_tools is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ enable_thinking }}", [{"enable_thinking": True}, {"enable_thinking": False}]),
        ("{% if reasoning_effort == 'high' %}{% elif reasoning_effort == 'low' %}{% endif %}",
         [{"reasoning_effort": "high"}, {"reasoning_effort": "low"}]),
        ("{% if thinking_mode in ['on', 'off'] %}{% endif %}", [{"thinking_mode": "on"}, {"thinking_mode": "off"}]),
        ("{% if thinking is not none and thinking == true %}{% endif %}", [{"thinking": True}, {"thinking": False}]),
        ("{% set enable_thinking = true %}{{ enable_thinking }}", []),
        ("{% set effort = effort | default('low') %}{% if effort in ['low', 'high'] %}{% endif %}",
         [{"effort": "low"}, {"effort": "high"}]),
        ("{% if not thinking_budget is defined %}{% set thinking_budget = -1 %}{% endif %}", []),
        ("{% set thinking_prefix = thinking_prefix or 'Think.' %}", []),
        ("{{ m.reasoning_content }}{{ messages }}{{ tools }}{{ bos_token }}{{ date }}", []),
        ("{{ preserve_thinking }}{{ clear_thinking }}", [
            {"clear_thinking": True}, {"clear_thinking": False},
            {"preserve_thinking": True}, {"preserve_thinking": False},
        ]),
    ],
)  # fmt: skip
def test_switches(source: str, expected: list[dict[str, Any]]) -> None:
    assert static(source).switches() == expected


def test_at_most_three_values_of_a_switch() -> None:
    source = "{% if effort in ['a', 'b', 'c', 'd'] %}{% endif %}"
    assert static(source).switches() == [{"effort": "a"}, {"effort": "b"}, {"effort": "c"}]
