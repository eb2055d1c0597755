"""Text measured in terminal columns: East Asian wide characters and emoji take two, combining marks none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

ELLIPSIS = "…"


def width(text: str) -> int:
    """Return how many terminal columns ``text`` takes. It must be free of control characters (see ``visible``)."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def head(cells: Sequence[str], columns: int) -> str:
    """Join as many leading cells as fit into ``columns``; an ellipsis marks what was cut off at the end."""
    if width("".join(cells)) <= columns:
        return "".join(cells)
    return "".join(_fitting(cells, columns - 1)) + ELLIPSIS


def tail(cells: Sequence[str], columns: int) -> str:
    """Join as many trailing cells as fit into ``columns``; an ellipsis marks what was cut off at the beginning."""
    if width("".join(cells)) <= columns:
        return "".join(cells)
    return ELLIPSIS + "".join(reversed(list(_fitting(reversed(cells), columns - 1))))


def _fitting(cells: Iterable[str], columns: int) -> Iterator[str]:
    used = 0
    for cell in cells:
        used += width(cell)
        if used > columns:
            return
        yield cell


def chunks(cells: Iterable[str], columns: int) -> Iterator[str]:
    """Break cells into pieces of at most ``columns`` columns (a single wider cell stands alone)."""
    piece, used = "", 0
    for cell in cells:
        if piece and used + width(cell) > columns:
            yield piece
            piece, used = "", 0
        piece += cell
        used += width(cell)
    if piece:
        yield piece


def wrap(text: str, columns: int, *, first: str = "", rest: str = "") -> list[str]:
    """Break ``text`` at spaces into lines of at most ``columns`` columns, prefixes included.

    ``first`` begins the first line and ``rest`` the others. A word that is too long for a line is broken.
    """
    lines: list[str] = []
    line, used, empty = first, width(first), True
    for word in text.split(" "):
        if not empty and used + 1 + width(word) <= columns:
            line, used = f"{line} {word}", used + 1 + width(word)
            continue
        if not empty:
            lines.append(line)
            line, used = rest, width(rest)
        *full, word = chunks(word, max(columns - used, 1)) if word else [""]
        for piece in full:
            lines.append(line + piece)
            line, used = rest, width(rest)
        line, used, empty = line + word, used + width(word), False
    return [*lines, line]
