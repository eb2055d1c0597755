"""Names that are set inside a loop: which writes are lost, and which only look it."""

from __future__ import annotations

import pytest

from template_lint.facts.lost_writes import MOST_USES, lost_writes
from template_lint.rendering.template import ChatTemplate
from tests.facts.helper import PROFILE
from tests.rules.helper import check_rule, skip_reason


def lost(source: str) -> list[tuple[str, bool]]:
    found, _ = lost_writes(ChatTemplate(source, PROFILE).tree, source)
    return [(write.name, write.next_iteration) for write in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% set a = 1 %}{% for m in messages %}{% set a = 2 %}{% endfor %}{{ a }}", [("a", False)]),
        ("{% set a = 1 %}{% for m in messages %}{{ a }}{% set a = 2 %}{% endfor %}", [("a", True)]),
        ("{% set a = 0 %}{% for m in messages %}{% set a = a + 1 %}{% endfor %}", [("a", True)]),
        (
            "{% set a = 1 %}{% for m in x %}{% if m %}{% set a = 2 %}{% endif %}{% endfor %}{% if a %}x{% endif %}",
            [("a", False)],
        ),
        (
            "{% for m in x %}{% set a = 1 %}{% for n in m %}{% set a = 2 %}{% endfor %}{{ a }}{% endfor %}",
            [("a", False)],
        ),
        (
            "{% macro f(x) %}{% set a = 1 %}{% for m in x %}{% set a = 2 %}{% endfor %}{{ a }}{% endmacro %}",
            [("a", False)],
        ),
        ("{% for m in x %}{% set a = m %}{% endfor %}{% if a is defined %}{{ a }}{% endif %}", [("a", False)]),
        ("{% for m in x %}{% if a is defined %}{{ a }}{% endif %}{% set a = m %}{% endfor %}", [("a", True)]),
        ("{% for m in x %}{% set a = m %}{% endfor %}{% for n in y %}{{ a }}{% endfor %}", [("a", False)]),
        ("{% for m in x %}{% for n in m %}{% set a = n %}{% endfor %}{{ a }}{% endfor %}", [("a", False)]),
        ("{% set a %}x{% endset %}{% for m in messages %}{% set a %}y{% endset %}{% endfor %}{{ a }}", [("a", False)]),
    ],
)
def test_a_write_that_nobody_sees_is_lost(source: str, expected: list[tuple[str, bool]]) -> None:
    assert lost(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% set ns = namespace(a=1) %}{% for m in messages %}{% set ns.a = 2 %}{% endfor %}{{ ns.a }}",
        "{% set a = 1 %}{% for m in messages %}{% set a = 2 %}{{ a }}{% endfor %}",
        "{% set a = 1 %}{{ a }}{% for m in messages %}{% set a = 2 %}{{ a }}{% endfor %}",
        "{% for m in messages %}{% set a = 1 %}{% endfor %}{% for m in messages %}{% set a = 2 %}{{ a }}{% endfor %}",
        "{% set a = 1 %}{% for m in messages %}{% set a = 2 %}{% endfor %}{% set a = 3 %}{{ a }}",
        "{% if x %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}",
        "{% set a = 1 %}{% for m in x %}{% if m %}{% set a = 2 %}{% else %}"
        "{% set a = 3 %}{% endif %}{{ a }}{% endfor %}",
        "{% set a = 1 %}{% set a = 2 %}{% for m in messages %}{{ a }}{% endfor %}",
        "{% for m in messages %}{% set a = m %}{{ a }}{% set a = 2 %}{% endfor %}",
        "{% if a %}1{% endif %}{% for m in x %}{% set a = m %}{% endfor %}",
        "{% for m in x %}{% set a = m %}{% endfor %}{% set a = 1 %}{{ a }}",
        "{% for m in x %}{% set a = m %}{% endfor %}{% for n in y %}{% if n %}{% set a = 1 %}{% else %}{% set a = 2 %}"
        "{% endif %}{{ a }}{% endfor %}",
        "{% if b %}{% for m in x %}{% set a = m %}{% endfor %}{% else %}{{ a }}{% endif %}",
        "{% for m in x %}{% set a = m %}{% endfor %}{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1) }}",
        "{% for m in x %}{% if m %}{% set a = 1 %}{% else %}{{ a }}{% endif %}{% endfor %}",
    ],
)
def test_a_write_that_is_seen_or_replaced_is_not(source: str) -> None:
    assert lost(source) == []


def test_a_name_that_is_used_too_often_is_not_followed_and_said_to_be() -> None:
    lost_one = "{% set a = 1 %}{% for m in messages %}{% set a = 2 %}{% endfor %}{{ a }}"
    often = "{% set b = 1 %}{% for m in messages %}" + "{% set b = b %}" * MOST_USES + "{% endfor %}{{ b }}"
    assert skip_reason("TL005", often) == f"'b' is used in more than {MOST_USES} places"
    assert lost(lost_one + often) == [("a", False)]
    assert [finding.evidence["name"] for finding in check_rule("TL005", lost_one + often)] == ["a"]


def test_a_name_that_only_a_loop_sets_is_said_to_be_set_by_nothing_after_it() -> None:
    found = "{% for m in messages %}{% if m.role == 'system' %}{% set rule = m.content %}{% endif %}{% endfor %}"
    [finding] = check_rule("TL005", found + "{% if rule is defined %}{{ rule }}{% endif %}")
    assert finding.message.endswith("line 1 reads it after the loop, where nothing sets it")
    [finding] = check_rule("TL005", found.replace("rule", "tools") + "{% if tools %}{{ tools }}{% endif %}")
    assert finding.message.endswith("line 1 reads it after the loop and finds the old value")
