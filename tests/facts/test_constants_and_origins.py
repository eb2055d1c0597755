"""What constants decide, and which field of the conversation a value comes from."""

from __future__ import annotations

import time
from typing import Any

import pytest
from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.origins import CONTENT, PART, ROLE
from template_lint.rendering.environment import later_now
from template_lint.rendering.profiles import resolve_profile


def facts_of(source: str) -> TemplateFacts:
    return TemplateFacts(source, resolve_profile("5.24"))


def printed(facts: TemplateFacts) -> nodes.Node:
    """The expression that the template prints last."""
    return facts.static.of(nodes.Output)[-1].nodes[-1]


def values(source: str) -> list[Any]:
    facts = facts_of(source)
    return facts.constants.values(printed(facts))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'a' ~ 'b' }}", ["ab"]),
        ("{% set x = 'a' %}{{ x ~ x }}", ["aa"]),
        ("{% set x = 'a' %}{% set x = 'b' %}{{ x }}", ["a", "b"]),
        ("{{ 'a' if messages else 'b' }}", ["a", "b"]),
        ("{% for x in ['a', 'b'] %}{{ x }}{% endfor %}", ["a", "b"]),
        ("{% set n = namespace(a='x') %}{{ n.a ~ '!' }}", ["x!"]),
        ("{{ {'k': 'v'}['k'] }}", ["v"]),
        ("{{ ('a,b'.split(','))[1] }}", ["b"]),
        ("{{ 'abc'[::-1] }}", ["cba"]),
        ("{{ messages }}", []),
        ("{{ 'a' ~ messages[0].role }}", []),
    ],
)
def test_values_that_constants_decide(source: str, expected: list[Any]) -> None:
    assert values(source) == expected


def test_a_name_set_from_itself_ends() -> None:
    assert "ab" in values("{% set x = 'a' %}{% set x = x ~ 'b' %}{{ x }}")


@pytest.mark.parametrize(
    "source", ["{{ 'a' * 99999999 }}", "{{ '%9999999d' % n }}{% set n = 1 %}{{ '%9999999d' % n }}"]
)
def test_what_would_be_large_is_not_built(source: str) -> None:
    started = time.process_time()
    facts = facts_of(source)
    assert facts.constants.values(printed(facts)) == []
    assert time.process_time() - started < 1


def origins(source: str) -> frozenset[str]:
    facts = facts_of(source)
    return facts.origins.of(printed(facts))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ messages[0].content }}", {CONTENT}),
        ("{{ messages[0]['content']|trim|upper }}", {CONTENT}),
        ("{{ messages[0].get('content') }}", {CONTENT}),
        ("{% set t = messages[0].content %}{{ 'x' + t.split('a')[0] }}", {CONTENT}),
        ("{% for p in messages[0].content %}{{ p }}{% endfor %}", {PART}),
        ("{% for p in messages[0].content %}{{ p.text }}{% endfor %}", {CONTENT}),
        ("{% set x %}{{ messages[0].role }}{% endset %}{{ x ~ messages[0].content }}", {ROLE, CONTENT}),
        ("{{ messages|map(attribute='role')|join }}", {ROLE}),
        ("{{ messages[0].content|length }}", set()),
        ("{{ messages[0].content.startswith('a') }}", set()),
        ("{{ tools }}", set()),
    ],
)
def test_origins(source: str, expected: set[str]) -> None:
    assert origins(source) == expected


def test_a_variant_shares_the_code_and_has_its_own_clock_and_profile() -> None:
    facts = facts_of("{{ strftime_now('%Y') }}{{ messages[0].content }}")
    messages = [{"role": "user", "content": None}]
    later = facts.template.variant(clock=later_now)
    older = facts.template.variant(profile=resolve_profile("4.57"))
    assert facts.render(messages).text == "2026"
    assert facts.render_variant(later, messages).text == "2027"
    assert facts.render_variant(older, messages).text == "2026None"


def test_the_line_that_prints_an_offset() -> None:
    facts = facts_of("{{ 'ab' }}\n{{ messages[0].content }}\n{{ messages[0].role }}")
    messages = [{"role": "user", "content": "xyz"}]
    assert [facts.line_printing(messages, offset) for offset in (0, 3, 7, 99)] == [1, 2, 3, None]


def test_what_the_sandbox_refuses_is_remembered_with_its_line() -> None:
    facts = facts_of("x\n{{ messages.append(1) }}")
    assert facts.render([{"role": "user", "content": "a"}]).error == "SecurityError"
    assert facts.template.refusals == {("append", "list"): 2}
