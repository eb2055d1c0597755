"""What is said of a word that names no rule."""

from __future__ import annotations

import pytest

from template_lint.rules.registry import nearest_rule, rule_names


@pytest.mark.parametrize(
    ("word", "code"),
    [("TL1O1", "TL101"), ("tl1o1", "TL101"), ("TLIOI", "TL101"), ("TL2l2", "TL212"), ("TLAO1", "TLA01")],
)
def test_letters_that_look_like_digits_are_read_as_digits(word: str, code: str) -> None:
    assert nearest_rule(word) == f" Did you mean {code}?"


@pytest.mark.parametrize(
    ("word", "nearest"),
    [("TL1011", "TL101"), ("tool-prefx", "tool-prefix"), ("Tool-Prefix", "tool-prefix"), ("tl101", "TL101")],
)
def test_a_word_that_is_nearly_right_is_told_the_right_one(word: str, nearest: str) -> None:
    assert nearest_rule(word) == f" Did you mean {nearest}?"


@pytest.mark.parametrize(
    ("word", "prefix"), [("tl1", "TL1"), ("TLl", "TL1"), ("TL3O", "TL30"), ("tool-prefx", "tool-prefix")]
)
def test_where_prefixes_count_they_are_told_too(word: str, prefix: str) -> None:
    assert nearest_rule(word, prefixes=True) == f" Did you mean {prefix}?"


def test_a_word_like_no_rule_is_told_none() -> None:
    assert nearest_rule("zzzzzz") == nearest_rule("") == ""


def test_every_code_is_nearest_to_itself() -> None:
    assert [nearest_rule(code) for code in rule_names()] == [f" Did you mean {code}?" for code in rule_names()]
