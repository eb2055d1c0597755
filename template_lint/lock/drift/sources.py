"""The difference of two template sources as a unified diff of bounded size."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import NamedTuple

MOST_LINES = 80
"""Lines of a diff that are kept; the counts say how many there are."""

_MOST_SOURCE_LINES = 4000


class SourceDiff(NamedTuple):
    """``lines`` are those of a unified diff, without line ends and at most MOST_LINES; the counts are of all."""

    lines: tuple[str, ...]
    added: int
    removed: int


def diff_sources(before: str, after: str, names: tuple[str, str]) -> SourceDiff:
    """Compare two sources line by line. A last line feed that only one of them has is shown as git does.

    Sources of thousands of lines (no real template has them) are compared as sets of lines, without a text.
    """
    if before == after:
        return SourceDiff((), 0, 0)
    one, other = before.split("\n"), after.split("\n")
    if max(len(one), len(other)) > _MOST_SOURCE_LINES:
        return SourceDiff((), len(set(other) - set(one)), len(set(one) - set(other)))
    lines = list(difflib.unified_diff(one, other, *names, n=2, lineterm=""))
    body = lines[2:]
    return SourceDiff(
        tuple(islice(lines, MOST_LINES)),
        sum(line.startswith("+") for line in body),
        sum(line.startswith("-") for line in body),
    )
