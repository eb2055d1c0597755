import io

import pytest

from template_lint.report.layout.canvas import DEFAULT_WIDTH, Canvas, canvas_for
from template_lint.report.layout.divergence import divergence
from template_lint.report.layout.escape import visible
from template_lint.report.layout.excerpt import excerpt
from template_lint.report.layout.table import Cell, characters, table
from template_lint.report.layout.width import head, tail, width, wrap
from tests.report.samples import place

PLAIN = Canvas(width=60)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x1b[0m\x7f\x9b", "\\x1b[0m\\x7f\\x9b"),
        ("\u202e\u200b\u00a0\ufeff", "\\u202e\\u200b\\xa0\\ufeff"),
        ("\U000e0041\ufe0f\u3164", "\\U000e0041\\ufe0f\\u3164"),
        ("\ud800", "\\ud800"),
        ("é 港 🌊", "é 港 🌊"),
        ("a\\n", "a\\n"),
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_visible_tells_a_line_feed_from_its_escape() -> None:
    assert visible("\n\\n", backslash=True) == "\\n\\\\n"


def test_visible_keeps_what_it_is_told_to() -> None:
    assert visible("a\n\x1b", keep="\n") == "a\n\\x1b"


@pytest.mark.parametrize(("text", "columns"), [("abc", 3), ("港口", 4), ("🌊", 2), ("e\u0301", 1), ("", 0)])
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_head_and_tail_mark_what_they_cut() -> None:
    assert head("abcdef", 6) == "abcdef"
    assert head("abcdef", 4) == "abc…"
    assert tail("abcdef", 4) == "…def"
    assert head("港港港", 4) == "港…"


def test_further_lines_hang_under_the_text_while_there_is_room() -> None:
    assert Canvas(width=40).hang(" " * 22 + "", "one two three four five")[1].index("five") == 22
    assert Canvas(width=30).hang("label " * 4, "one two three")[1].index("two") == 20


def test_wrap_breaks_words_that_do_not_fit() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefgh ij", 4, first="> ", rest="  ") == ["> ab", "  cd", "  ef", "  gh", "  ij"]


def draw(source: str, text: str, columns: int = 60, **options: int) -> list[str]:
    return excerpt(source, place(source, text), Canvas(width=columns), **options)


def test_carets_stand_under_the_range() -> None:
    assert draw("a\nif loop.last:\nb", "loop.last", around=1) == [
        "  1 | a",
        "  2 | if loop.last:",
        "    |    ^^^^^^^^^",
        "  3 | b",
    ]


def test_carets_count_columns_not_characters() -> None:
    assert draw("\t港🌊 {{ x }}", "{{ x }}") == [
        "  1 |     港🌊 {{ x }}",
        "    |          ^^^^^^^",
    ]


def test_carets_under_wide_and_escaped_characters() -> None:
    assert draw("'🌊\x1b' y", "🌊\x1b") == [
        "  1 | '🌊\\x1b' y",
        "    |  ^^^^^^",
    ]


def test_long_line_is_cropped_around_the_range() -> None:
    lines = draw("a" * 500 + "{{ x }}" + "b" * 500, "{{ x }}", 40)
    assert all(width(line) <= 40 for line in lines)
    assert lines[0].index("{{ x }}") == lines[1].index("^^^^^^^")
    assert lines[0].count("…") == 2


def test_range_longer_than_the_line_shows_its_beginning() -> None:
    lines = draw("x" * 30 + "y" * 500, "y" * 500, 40)
    assert all(width(line) <= 40 for line in lines)
    assert lines[0][lines[1].index("^")] == "y"


def test_range_over_several_lines_names_its_end() -> None:
    assert draw("{{ a +\n b }}", "a +\n b")[1] == "    |    ^^^ to line 2"


def test_jinja_lines_are_not_python_lines() -> None:
    assert draw("a\u2028b\x0c\r\nc", "c")[0] == "  2 | c"


def test_empty_range_still_gets_a_caret() -> None:
    assert draw("abc", "")[1] == "    | ^"


def test_divergence_is_aligned() -> None:
    evidence = {"earlier": "ab\nXY", "later": "ab\nZ", "excerpt_offset": 3, "offset": 3}
    assert list(divergence(evidence, PLAIN)) == [
        "  earlier  ab\\nXY",
        "  later    ab\\nZ",
        "               ^ character 3",
    ]


def test_divergence_finds_the_offset_itself_when_evidence_has_none() -> None:
    assert list(divergence({"earlier": "ab", "later": "a"}, PLAIN)) == [
        "  earlier  ab",
        "  later    a(end)",
        "            ^ here",
    ]


def test_other_evidence_draws_nothing() -> None:
    assert list(divergence({"earlier": 1}, PLAIN)) == []


def test_table_aligns_wide_characters_and_wraps_the_last_column() -> None:
    rows = [(Cell("港"), Cell("abcdef")), (Cell("xyz"), Cell("g"))]
    assert list(table(rows, Canvas(width=13), breaker=characters)) == ["港   abcdef", "xyz  g"]
    assert list(table(rows, Canvas(width=9), right=frozenset({0}), breaker=lambda text, n: [text[:3], text[3:]])) == [
        " 港  abcdef",
        "xyz  g",
    ]


@pytest.mark.parametrize(
    ("stream", "environ", "color"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_who_gets_colours(stream: io.StringIO, environ: dict[str, str], color: bool) -> None:
    assert canvas_for(stream, environ).color is color


@pytest.mark.parametrize(("columns", "width"), [("40", 40), ("1", 20), ("", DEFAULT_WIDTH), ("wide", DEFAULT_WIDTH)])
def test_width_of_the_canvas(columns: str, width: int) -> None:
    assert canvas_for(Terminal(), {"COLUMNS": columns}).width == width
