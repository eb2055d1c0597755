"""A rendered conversation laid out for a person: as text, as tokens, as a loss mask, with its template lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from template_lint.cli.support.voices import CONTROL, Voices
from template_lint.rendering.api import Rendering
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.table import Cell, characters, table

_STYLES = {
    CONTROL: "bold blue",
    "system": "yellow",
    "developer": "yellow",
    "user": "green",
    "assistant": "cyan",
    "tool": "magenta",
}


@dataclass(frozen=True, kw_only=True)
class TokenRow:
    """One token: its id, its vocabulary piece, the range [start, end) of characters it stands for, and its mask bit."""

    id: int
    piece: str
    start: int
    end: int
    masked: bool


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What there is to look at: a rendering, who speaks in it, and its tokens where a tokenizer is known.

    ``note`` is said beside it, where what is shown is not exactly what was asked for.
    """

    rendering: Rendering
    voices: Voices
    tokens: tuple[TokenRow, ...] = ()
    note: str = ""


def prose(shown: Shown, canvas: Canvas) -> str:
    """Return the text coloured by speaker. Line feeds and tabs stay; other invisible characters are escaped."""
    text = shown.rendering.text
    return "".join(
        canvas.paint(visible(text[start:end], keep="\n\t"), _STYLES.get(voice, ""))
        for start, end, voice in shown.voices.runs()
    )


def token_table(shown: Shown, canvas: Canvas, *, mask: bool) -> Iterator[str]:
    """Yield one row per token: index, id, speaker, with ``mask`` also 1 or 0, and its text."""
    text = shown.rendering.text
    header = ["token", "id", "voice", *(["mask"] if mask else []), "text"]
    rows = []
    reached = 0
    for index, token in enumerate(shown.tokens):
        voice = shown.voices.at(token.start)
        # Tokens that share one character (bytes of an emoji) are told apart by their vocabulary pieces.
        shares = token.start < reached or token.start == token.end
        piece = f"<{visible(token.piece)}>" if shares else f"'{visible(text[token.start : token.end], backslash=True)}'"
        reached = max(reached, token.end)
        style = _STYLES.get(voice, "")
        cells = [Cell(str(index), "dim"), Cell(str(token.id)), Cell(visible(voice), style)]
        rows.append([*cells, *([Cell("1" if token.masked else "0")] if mask else []), Cell(piece, style)])
    yield from table(rows, canvas, header=header, right=frozenset({0, 1}), breaker=characters)


def mask_table(shown: Shown, canvas: Canvas) -> Iterator[str]:
    """Yield the text in runs that are inside (1) or outside (0) a generation span, with their character ranges."""
    text = shown.rendering.text
    rows = []
    for start, end, inside in _mask_runs(len(text), shown.rendering.generation_spans):
        for number, (_, line) in enumerate(_lines(text[start:end], start)):
            lead = [Cell("1" if inside else "0"), Cell(f"{start}-{end}")] if number == 0 else [Cell(""), Cell("")]
            rows.append([*lead, Cell(visible(line, backslash=True), "bold green" if inside else "dim")])
    yield from table(rows, canvas, header=["mask", "characters", "text"], right=frozenset({0, 1}), breaker=characters)


def line_table(shown: Shown, canvas: Canvas) -> Iterator[str]:
    """Yield each piece of the output beside the template line and column that printed it."""
    text = shown.rendering.text
    rows = []
    for start, end, line, column in shown.rendering.lines:
        for at, piece in _lines(text[start:end], start):
            voice = shown.voices.at(at)
            rows.append([Cell(f"{line}:{column}", "dim"), Cell(visible(piece, backslash=True), _STYLES.get(voice, ""))])
    yield from table(rows, canvas, header=["line", "output"], right=frozenset({0}), breaker=characters)


def as_data(shown: Shown) -> dict[str, Any]:
    """Return everything as plain data: text, generation spans, template lines, branch outcomes, tokens."""
    rendering = shown.rendering
    return {
        "text": rendering.text,
        "generation_spans": [list(span) for span in rendering.generation_spans],
        "lines": [piece._asdict() for piece in rendering.lines],
        "branches": [branch._asdict() for branch in rendering.branches],
        "tokens": [
            {"id": token.id, "piece": token.piece, "start": token.start, "end": token.end} for token in shown.tokens
        ],
    }


def _lines(text: str, start: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of ``text``, line feeds included, with the offset at which each begins."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        whole = line + ("\n" if number < len(lines) - 1 else "")
        if whole:
            yield start, whole
        start += len(whole)


def _mask_runs(length: int, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    reached = 0
    for start, end in spans:
        if start > reached:
            yield reached, start, False
        if end > start:
            yield start, end, True
        reached = max(reached, end)
    if reached < length:
        yield reached, length, False
