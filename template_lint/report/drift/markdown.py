"""The drift report for the body of a pull request or a job summary: Markdown that no text of a template can break."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TextIO

from template_lint.lock.drift.model import Drift, DriftReport, Grade
from template_lint.report.drift import text
from template_lint.report.drift.words import GRADES, summary
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible

MOST_CHARACTERS = 60_000
"""A pull request body holds 65,536 characters; what is left out is said."""

_WIDTH = 110
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~&@-])")


def write(report: DriftReport, out: TextIO, *, canvas: Canvas) -> None:
    """Write a table of what is not clean, then each of them with what to do and its evidence folded away."""
    told = [drift for drift in report.drifts if drift.error is not None or drift.grade is not Grade.SAME]
    told.sort(key=lambda drift: -1 if drift.error is not None else -(drift.grade.number or 0) - 2)
    out.write("# Drift\n\n" + _plain(summary(report)) + "\n")
    if told:
        out.write("\n| model | grade | what happened |\n| --- | --- | --- |\n")
    rows = [f"| {_plain(drift.target)} | {_grade(drift)} | {_plain(drift.sentence)} |\n" for drift in told]
    room = _write_up_to(rows, MOST_CHARACTERS // 2, "models", out) + MOST_CHARACTERS // 2
    _write_up_to(["\n" + "\n".join(_part(drift)) + "\n" for drift in told], room, "reports", out)


def _grade(drift: Drift) -> str:
    return "not compared" if drift.error is not None else GRADES[drift.grade]


def _write_up_to(parts: list[str], room: int, noun: str, out: TextIO) -> int:
    """Write the parts that fit into ``room`` characters, and say how many did not; the room that is left."""
    for index, part in enumerate(parts):
        if len(part) > room:
            left_out = f"{len(parts) - index} more {noun} are left out here"
            out.write(f"\n{left_out}; `--output text` or `--output json` has them all.\n")
            return room
        out.write(part)
        room -= len(part)
    return room


def _part(drift: Drift) -> Iterator[str]:
    yield f"## {_plain(drift.target)}"
    yield ""
    yield _plain(drift.sentence)
    if drift.advice:
        yield ""
    for step in drift.advice:
        yield f"- {_plain(step)}"
    for reason in drift.unchecked:
        yield f"- **not compared**: {_plain(reason)}"
    if drift.error is not None:
        return
    yield ""
    yield "<details><summary>evidence</summary>"
    yield ""
    yield _fenced(_evidence(drift))
    yield ""
    yield "</details>"


def _evidence(drift: Drift) -> str:
    out = io.StringIO()
    text.write(DriftReport((drift,)), out, canvas=Canvas(width=_WIDTH))
    return out.getvalue().rstrip("\n")


def _fenced(content: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{content}\n{fence}"


def _plain(value: str) -> str:
    """Text of our own or of a stranger: nothing in it is Markdown, but commands in single backquotes stay code."""
    parts = re.split(r"(`template-lint [^`\n]*`)", visible(value))
    return "".join(part if part.startswith("`template-lint ") else _SPECIAL.sub(r"\\\1", part) for part in parts)
