"""Edits of a template source: exact replacements, how they add up, and what a person is told about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from template_lint.rendering.positions import normalise_newlines


class Edit(NamedTuple):
    """Replace the half-open range [start, end) of a source, 0-based code points after newline normalisation."""

    start: int
    end: int
    text: str


class Change(NamedTuple):
    """An edit as a person reads it: 1-based line and column in the original, the text there, and what replaces it."""

    line: int
    column: int
    before: str
    after: str


def apply_edits(source: str, edits: Sequence[Edit]) -> str:
    """The source with the edits applied; newlines that no edit touches stay as they are. Edits must not overlap."""
    raw = _raw_offsets(source, [offset for edit in edits for offset in (edit.start, edit.end)])
    text = source
    for edit in sorted(edits, reverse=True):
        text = text[: raw[edit.start]] + edit.text + text[raw[edit.end] :]
    return text


def _raw_offsets(source: str, offsets: Sequence[int]) -> dict[int, int]:
    """Offsets in the source as it is, for offsets after newline normalisation."""
    if "\r\n" not in source:
        return {offset: offset for offset in offsets}
    raw: list[int] = [index for index, c in enumerate(source) if not (c == "\n" and source[index - 1 : index] == "\r")]
    raw.append(len(source))
    return {offset: raw[offset] for offset in offsets}


def add_edits(edits: Sequence[Edit], later: Sequence[Edit], current: str) -> list[Edit]:
    """Edits of the original that do what ``edits`` and then ``later`` do.

    ``later`` are in offsets of ``current``, the (normalised) source after ``edits``.
    """
    combined = list(edits)
    for edit in sorted(later, reverse=True):  # from the end: what stands before keeps its offsets
        combined = _add(combined, edit, current)
        current = current[: edit.start] + edit.text + current[edit.end :]
    return combined


def _add(edits: Sequence[Edit], new: Edit, current: str) -> list[Edit]:
    shift = 0
    before: list[Edit] = []
    after: list[Edit] = []
    start, end = new.start, new.end
    original_start: int | None = None
    original_end: int | None = None
    shift_before = 0
    for edit in sorted(edits):
        here, there = edit.start + shift, edit.start + shift + len(edit.text)
        shift += len(edit.text) - (edit.end - edit.start)
        if there < new.start or (there == new.start and here < new.start):
            before.append(edit)
            shift_before = shift
        elif here > new.end or (here == new.end and there > new.end):
            after.append(edit)
        else:
            if original_start is None:
                original_start = edit.start - max(0, here - new.start)
            original_end = edit.end + max(0, new.end - there)
            start, end = min(start, here), max(end, there)
    text = current[start : new.start] + new.text + current[new.end : end]
    if original_start is None or original_end is None:
        original_start, original_end = new.start - shift_before, new.end - shift_before
    return [*before, Edit(original_start, original_end, text), *after]


def changes_of(source: str, edits: Sequence[Edit]) -> tuple[Change, ...]:
    """The edits of a source in order, for a report."""
    text = normalise_newlines(source)
    changes = []
    for edit in sorted(edits):
        line = text.count("\n", 0, edit.start) + 1
        column = edit.start - (text.rfind("\n", 0, edit.start) + 1) + 1
        changes.append(Change(line, column, text[edit.start : edit.end], edit.text))
    return tuple(changes)
