"""Aligned columns; the last one takes what is left of the width and goes on below itself where that is not enough."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.width import chunks, width, wrap


class Cell(NamedTuple):
    """A visible text and the style it is painted in."""

    text: str
    style: str = ""


def words(text: str, columns: int) -> list[str]:
    """Break prose at spaces."""
    return wrap(text, columns)


def characters(text: str, columns: int) -> list[str]:
    """Break text wherever the line is full, so that nothing of it is lost."""
    return list(chunks(text, columns)) or [""]


def table(
    rows: Iterable[Sequence[Cell]],
    canvas: Canvas,
    *,
    header: Sequence[str] = (),
    right: frozenset[int] = frozenset(),
    gap: str = "  ",
    breaker: Callable[[str, int], list[str]] = words,
) -> Iterator[str]:
    """Draw ``rows`` with every column as wide as its widest cell. Columns whose index is in ``right`` align right."""
    body = list(rows)
    lines = [tuple(Cell(text, "bold") for text in header), *body] if header else body
    if not lines:
        return
    widths = [max(width(line[column].text) for line in lines) for column in range(len(lines[0]) - 1)]
    lead = sum(widths) + len(gap) * len(widths)
    room = max(canvas.width - lead, 8)
    for line in lines:
        fixed = ""
        for column, columns in enumerate(widths):
            text, style = line[column]
            space = " " * (columns - width(text))
            painted = canvas.paint(text, style)
            fixed += (space + painted if column in right else painted + space) + gap
        last = line[-1]
        pieces = [last.text] if width(last.text) <= room else breaker(last.text, room)
        yield (fixed + canvas.paint(pieces[0], last.style)).rstrip(" ")
        for piece in pieces[1:]:
            yield " " * lead + canvas.paint(piece, last.style)
