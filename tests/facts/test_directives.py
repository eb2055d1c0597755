"""Comments that speak to the linter, found in Jinja's tokens."""

from __future__ import annotations

import pytest

from template_lint.facts import TemplateFacts
from template_lint.model import Directive
from template_lint.rendering.profiles import parse_profile


def directives(source: str) -> list[Directive]:
    return TemplateFacts(source, parse_profile("5.24")).directives


def test_text_place_and_next_lines() -> None:
    source = "{{ a }}\n  {#- template-lint: ignore[TL101] why -#}\n\n{% if x and\n  y %}{% endif %}"
    [found] = directives(source)
    assert found.text == " template-lint: ignore[TL101] why "
    assert source[found.offset :].startswith(found.text)
    assert source[found.place.offset : found.place.end_offset] == "{#- template-lint: ignore[TL101] why -#}"
    assert (found.place.line, found.place.column, found.place.end_column) == (2, 3, 43)
    assert found.alone
    assert (found.first_line, found.last_line) == (4, 5)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("{# template-lint: x #}\n{# other #}\n{# template-lint: y #}\n{{ a }}", (4, 4)),
        ("{# template-lint: x #}\n\n text\n{{ a }}", (3, 3)),
        ("{# template-lint: x #}\n{% raw %}{{ {% endraw %}", (2, 2)),
        ("{{ a }}\n{# template-lint: x #}\n", (0, 0)),
    ],
)
def test_what_comes_next(source: str, lines: tuple[int, int]) -> None:
    found = directives(source)[0]
    assert (found.first_line, found.last_line) == lines


@pytest.mark.parametrize(
    "source",
    [
        "{{ '{# template-lint: ignore[TL101] why #}' }}",
        "{% raw %}{# template-lint: ignore[TL101] why #}{% endraw %}",
        "{# template-lint found this to be stable #}",
        "{# see template-lint: ignore[TL101] #}",
        "{# template-linting: no #}",
        "template-lint: ignore[TL101] why",
    ],
)
def test_what_only_looks_like_one_is_none(source: str) -> None:
    assert directives(source) == []


@pytest.mark.parametrize(
    "comment",
    ["template-lint: disable TL1", "template_lint: ignore[TL101] x", "Template-Lint ignore TL101", "templatelint:x"],
)
def test_what_is_meant_for_us_is_found_in_any_spelling(comment: str) -> None:
    [found] = directives("{# " + comment + " #}")
    assert found.text.strip() == comment


def test_a_comment_that_shares_its_line_is_not_alone() -> None:
    assert [d.alone for d in directives("{{ a }} {# template-lint: x #}\n{# template-lint: x #}{{ b }}\n")] == [
        False
    ] * 2


def test_of_a_template_that_does_not_parse_those_before_the_mistake_are_found() -> None:
    source = "{# template-lint: one #}\n{% if %}\n{{ 'open }}\n{# template-lint: two #}"
    assert [found.text.strip() for found in directives(source)] == ["template-lint: one"]
    assert directives("{# template-lint: never closed") == []


def test_other_line_endings_count_as_one_character() -> None:
    [found] = directives("{{ a }}\r\n{# template-lint: x #}\r\n{{ b }}")
    assert (found.place.line, found.place.offset, found.first_line) == (2, 8, 3)


def test_the_source_map_of_the_template_stays_its_own() -> None:
    facts = TemplateFacts("{# template-lint: x #}\n{{ a }}", parse_profile("5.24"))
    before = facts.template.source_map.tokens
    assert facts.directives
    assert facts.template.source_map.tokens is before
