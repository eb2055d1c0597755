"""Names that a template sets only where the caller did not."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.facts.defaults import defaults_of
from template_lint.rendering.template import ChatTemplate
from tests.facts.helper import PROFILE


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% if not x is defined %}{% set x = 1 %}{% endif %}{{ x }}", {"x": [1]}),
        ("{% if x is undefined %}{% set x = none %}{% else %}{% set x = 'b' %}{% endif %}", {"x": [None, "b"]}),
        ("{% set x = x if x is defined else true %}", {"x": [True]}),
        ("{% set x = x | default(false) %}", {"x": [False]}),
        ("{% set x = x or -1 %}", {"x": [1]}),
        ("{% set x = x | trim %}", {"x": []}),
        ("{% set x %}{{ x }}{% endset %}", {"x": []}),
        ("{% if x %}{% endif %}{% for m in messages %}{% set x = m %}{% endfor %}", {"x": []}),
        ("{% with x = x %}{{ x }}{% endwith %}", {"x": []}),
        ("{% for x in x %}{{ x }}{% endfor %}", {"x": []}),
    ],
)
def test_a_name_that_is_asked_for_before_it_is_set(source: str, expected: dict[str, list[Any]]) -> None:
    assert defaults_of(ChatTemplate(source, PROFILE).tree) == expected


@pytest.mark.parametrize(
    "source",
    [
        "{% set x = 1 %}{{ x }}",
        "{% if m %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}",
        "{% for x in messages %}{{ x }}{% endfor %}",
        "{% for k, x in messages if x %}{{ x }}{% else %}{% endfor %}",
        "{% macro f(x) %}{{ x }}{% endmacro %}{{ f(x=1) }}",
        "{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}",
        "{% with x = 1 %}{{ x }}{% endwith %}",
        "{{ x }}",
    ],
)
def test_what_the_template_sets_first_or_never_has_no_default(source: str) -> None:
    assert defaults_of(ChatTemplate(source, PROFILE).tree) == {}
