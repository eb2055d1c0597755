"""Two renders of one conversation, drawn one above the other around the place where they part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible, visible_cells
from template_lint.report.layout.width import ELLIPSIS, head, tail, width

_SIDES = (("earlier", "green"), ("later", "red"))


def divergence(
    evidence: dict[str, Any], canvas: Canvas, *, indent: str = "  ", labels: tuple[str, str] = ("earlier", "later")
) -> Iterator[str]:
    """Draw the excerpts ``earlier`` and ``later`` of a prefix finding's evidence; nothing for other evidence.

    They are aligned at ``excerpt_offset``; a caret there names the character offset and, where known, the tokens.
    ``labels`` name the two sides.
    """
    earlier, later = evidence.get("earlier"), evidence.get("later")
    if not isinstance(earlier, str) or not isinstance(later, str):
        return
    at = evidence.get("excerpt_offset")
    if not isinstance(at, int) or not 0 <= at <= min(len(earlier), len(later)) or earlier[:at] != later[:at]:
        at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(earlier, later, strict=False)))
    lead = max(map(width, labels)) + 2
    room = canvas.width - len(indent) - lead
    shared = visible_cells(earlier[:at], backslash=True)
    if evidence.get("offset", 0) > at:
        shared.insert(0, ELLIPSIS)
    # What comes after the parting matters more than what comes before it.
    before = tail(shared, max(room // 4, min(room // 2, 24)))
    for label, (_, style), text in zip(labels, _SIDES, (earlier, later), strict=True):
        after = head(visible_cells(text[at:], backslash=True), room - width(before)) or "(end)"
        yield f"{indent}{label:<{lead}}{before}{canvas.paint(after, style)}"
    yield from _mark(_where(evidence), len(indent) + lead + width(before), canvas, indent, lead)


def _mark(where: str, column: int, canvas: Canvas, indent: str, lead: int) -> list[str]:
    """Put a caret in ``column`` (0-based) and ``where`` to its right, else to its left, else below it."""
    if column + 2 + width(where) <= canvas.width:
        return [" " * column + f"^ {where}"]
    if width(indent) + width(where) < column:
        return [" " * (column - width(where) - 1) + f"{where} ^"]
    return [" " * column + "^", *canvas.hang(indent + " " * lead, where)]


def _where(evidence: dict[str, Any]) -> str:
    parts = []
    if isinstance(evidence.get("offset"), int):
        parts.append(f"character {evidence['offset']}")
    if isinstance(evidence.get("token_index"), int):
        tokens = [_token(evidence, side) for side, _ in _SIDES]
        change = f": {tokens[0]} -> {tokens[1]}" if any(tokens) else ""
        parts.append(f"token {evidence['token_index']}{change}")
    return ", ".join(parts) or "here"


def _token(evidence: dict[str, Any], side: str) -> str:
    text, number = evidence.get(f"token_{side}"), evidence.get(f"token_id_{side}")
    if text is None and number is None:
        return ""
    shown = "" if text is None else f"'{visible(str(text), backslash=True)}'"
    return f"{shown} ({number})".strip() if number is not None else shown
