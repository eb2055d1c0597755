"""A few lines of a template with carets under the place that a finding blames."""

from __future__ import annotations

import re
from collections.abc import Iterator

from template_lint.model import Place
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible_cells
from template_lint.report.layout.width import ELLIPSIS, head, width

# Jinja's own idea of a line: form feeds and U+2028 do not count.
_NEWLINE = re.compile(r"\r\n|\r|\n")
_TAB = "    "


def source_lines(source: str) -> list[str]:
    """Split a template into the lines that Jinja counts."""
    return _NEWLINE.split(source)


def excerpt(
    source: str, place: Place, canvas: Canvas, *, note: str = "", around: int = 0, indent: str = "  "
) -> list[str]:
    """Draw the first line of ``place`` with carets under its range, and ``around`` lines before and after it.

    ``note`` goes behind the carets, or on a line of its own where it does not fit. Long lines are cropped around the
    range. Returns no lines when the place lies outside the source.
    """
    lines = source_lines(source)
    if not 1 <= place.line <= len(lines):
        return []
    first, last = max(1, place.line - around), min(len(lines), place.line + around)
    gutter = len(str(last))
    room = max(canvas.width - len(indent) - gutter - 3, 8)
    window, shift, carets = _window(lines[place.line - 1], *_columns(place, lines[place.line - 1]), room)

    def numbered(number: int | None, text: str) -> str:
        label = "" if number is None else str(number)
        return f"{indent}{canvas.paint(f'{label:>{gutter}} |', 'blue')} {text}".rstrip()

    def context(numbers: range) -> Iterator[str]:
        for number in numbers:
            yield numbered(number, _shifted(lines[number - 1], shift, room))

    blame = " " * carets[0] + canvas.paint("^" * (carets[1] - carets[0]), "bold red")
    if place.end_line > place.line:
        note = f"to line {place.end_line}" + (f"; {note}" if note else "")
    fits = not note or carets[1] + 1 + width(note) <= room
    return [
        *context(range(first, place.line)),
        numbered(place.line, window),
        numbered(None, f"{blame} {note}".rstrip() if fits else blame),
        *([] if fits else canvas.hang(f"{indent}{'':>{gutter}}   ", note)),
        *context(range(place.line + 1, last + 1)),
    ]


def _columns(place: Place, line: str) -> tuple[int, int]:
    """Return the 0-based, end-exclusive range of ``place`` on its first line; never empty."""
    start = min(max(place.column - 1, 0), len(line))
    end = place.end_column - 1 if place.end_line == place.line else len(line)
    return start, max(min(end, len(line)), start + 1)


def _cells(line: str) -> list[str]:
    return [
        _TAB if cell == "\\t" and char == "\t" else cell for char, cell in zip(line, visible_cells(line), strict=True)
    ]


def _window(line: str, start: int, end: int, room: int) -> tuple[str, int, tuple[int, int]]:
    """Crop ``line`` to ``room`` columns around the range; return text, cells cut on the left, caret columns."""
    cells = _cells(line)
    shift = _cut(cells, start, end, room)
    mark = ELLIPSIS if shift else ""
    text = mark + head(cells[shift:], room - len(mark))
    left = len(mark) + width("".join(cells[shift:start]))
    right = left + max(width("".join(cells[start:end])), 1)
    return text, shift, (left, min(right, max(room, left + 1)))


def _cut(cells: list[str], start: int, end: int, room: int) -> int:
    """Return how many leading cells to drop so that the range, or at least its beginning, is in view."""
    if width("".join(cells)) <= room or width("".join(cells[:end])) < room:
        return 0
    # A third of the room goes to what stands before the range, less when the range itself needs it.
    before = min(room // 3, max(room - 2 - width("".join(cells[start:end])), 0))
    shift = start
    while shift > 0 and (
        width("".join(cells[shift - 1 : start])) <= before or width("".join(cells[shift - 1 :])) < room
    ):
        shift -= 1
    return shift


def _shifted(line: str, shift: int, room: int) -> str:
    """Crop a neighbouring line with the same shift, so that columns stay aligned."""
    cells = _cells(line)
    if not shift:
        return head(cells, room)
    return ELLIPSIS + head(cells[shift:], room - 1) if len(cells) > shift else ""
