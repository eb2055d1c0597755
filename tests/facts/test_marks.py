"""Marks: what looks like a control token, what closes what, and where a template writes it."""

from __future__ import annotations

import pytest

from template_lint.facts.marks import (
    closes,
    ending_of,
    first_place,
    is_control,
    literal_place,
    marks_of,
    partners,
)
from template_lint.facts.written import marks_in_turns, written_marks, written_place
from tests.facts.helper import STABLE, facts

MARKS = """
<|im_end|> <｜end▁of▁sentence｜> <s> </s> <start_of_turn> [INST] [/INST] <|turn> <turn|> [|endofturn|] [e~[ ]~b]
<SPECIAL_12> </tool_call> <用户> <eos:6124c78e> <seed:bos>
"""
NOT_MARKS = ("a < b > c", "<<SYS>>", "x[0]", "[link]", '<a href="x">', "<function=name>", "<1>", "<>")


@pytest.mark.parametrize("mark", MARKS.split())
def test_a_mark_is_read_whole(mark: str) -> None:
    assert marks_of(f"a {mark}{mark} b") == [mark, mark]


@pytest.mark.parametrize("text", NOT_MARKS)
def test_what_is_no_mark(text: str) -> None:
    assert marks_of(text) == []


def test_control_marks_are_those_that_nobody_writes() -> None:
    marks = ["<|x|>", "<｜x｜>", "<turn|>", "<end_of_turn>", "[|x|]"]
    assert [is_control(mark) for mark in [*marks, "<think>", "[INST]"]] == [True] * 5 + [False] * 2


@pytest.mark.parametrize(
    ("opener", "closer"),
    [
        ("<|im_start|>", "<|im_end|>"),
        ("<start_of_turn>", "<end_of_turn>"),
        ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
        ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
        ("<tool_call>", "</tool_call>"),
        ("[INST]", "[/INST]"),
        ("<|turn>", "<turn|>"),
        ("<|user|>", "<|/user|>"),
        ("<seed:bos>", "<seed:eos>"),
    ],
)
def test_partners(opener: str, closer: str) -> None:
    assert closer in list(partners(opener))
    assert opener not in list(partners(closer))


def test_a_mark_called_start_has_no_partner() -> None:
    """gpt-oss: what <|start|> opens may end with <|end|>, <|return|> or <|call|>."""
    assert [list(partners(mark)) for mark in ("<|start|>", "<|begin|>", "</x>", "<|/x|>")] == [[]] * 4


def test_names_of_ends() -> None:
    assert all(map(closes, ["<|im_end|>", "</s>", "<|eot_id|>", "<eos>", "<|return|>", "<sep>"]))
    assert not any(map(closes, ["<|user|>", "[INST]", "<role>"]))


def test_an_ending_is_marks_white_space_and_the_rest() -> None:
    assert ending_of("\n<|end|>\n</s> \n") == (["<|end|>", "</s>"], "\n<|end|>\n</s>", " \n", "")
    assert ending_of("<|end|>\nassistant") == (["<|end|>"], "<|end|>", "\n", "assistant")
    assert ending_of("  ") == ([], "", "  ", "")
    assert ending_of("STOP\n", "STOP") == (["STOP"], "STOP", "\n", "")


def test_places_of_literals() -> None:
    found = facts("{# <|a|> #}{{ '<|a|>' }}{{ '<|b|>' ~ '<|b|>' }}<|c|>")
    assert literal_place(found, "<|a|>") is None  # a comment has it too
    first, second = first_place(found, "<|a|>"), first_place(found, "<|b|>")
    assert first is not None
    assert second is not None
    assert (first.column, second.column, first_place(found, "<|d|>")) == (16, 29, None)
    assert literal_place(found, "<|b|>") is None
    place = literal_place(found, "<|c|>")
    assert place is not None
    assert found.source[place.offset : place.end_offset] == "<|c|>"


def test_marks_that_are_looked_for_are_not_written() -> None:
    source = "<|a|>{% if '<|b|>' in x or x == '<|c|>' %}{{ x.split('<|d|>')[0] ~ '<|e|>' }}{% endif %}{# <|f|> #}"
    assert written_marks(facts(source)) == ["<|a|>", "<|e|>"]


def test_marks_in_turns_come_after_the_users_words() -> None:
    source = "Answer in <answer>.{{ '<|sys|>' }}" + STABLE
    assert marks_in_turns(facts(source)) == ["<|end|>", "<|assistant|>"]
    assert "<answer>" in written_marks(facts(source))


def test_a_mark_is_written_where_it_is_printed() -> None:
    source = "{% if '<|a|>' in messages %}{{ raise_exception('no <|a|>') }}{% endif %}{{ 'x<|a|>' }}{# <|a|> #}"
    place = written_place(facts(source), "<|a|>")
    assert place is not None
    assert source[: place.offset].endswith("{{ 'x")
    assert written_place(facts(source.replace("{{ 'x<|a|>' }}", "")), "<|a|>") is None
