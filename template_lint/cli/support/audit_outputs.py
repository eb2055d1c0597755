"""``--output`` of the audit: its formats, in the places that ``--output`` of ``check`` knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from template_lint.cli.support.outputs import atomic, standard_output
from template_lint.errors import UsageError
from template_lint.report.audit import check_format, writer
from template_lint.report.layout.canvas import Canvas, canvas_for

if TYPE_CHECKING:
    from template_lint.audit.run import Audit

Destination = tuple[str, Path | None]


def parse_audit_outputs(texts: Sequence[str]) -> list[Destination]:
    """(format, file or None for standard output); none at all means text. Raises UsageError."""
    chosen = [_parse(text) for text in texts or ["text"]]
    places = [path and path.resolve() for _, path in chosen]
    for (name, path), place in zip(chosen, places, strict=True):
        if places.count(place) > 1:
            where = "standard output" if place is None else str(path)
            raise UsageError(f"two outputs go to {where}. Give each its own file: --output {name}=FILE.")
    return chosen


def _parse(text: str) -> Destination:
    name, equals, file = text.partition("=")
    check_format(name)
    if not equals or file == "-":
        return name, None
    path = Path(file)
    if not file or path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {text}: cannot write a file there. Name a file in an existing folder.")
    return name, path


def emit_audit(chosen: Sequence[Destination], audit: Audit) -> None:
    """Write every output: files first, because the reader of stdout may leave early."""
    for name, path in sorted(chosen, key=lambda destination: destination[1] is None):
        if path is None:
            with standard_output() as out:
                writer(name)(audit, out, canvas=canvas_for(out))
        else:
            with atomic(path) as out:
                writer(name)(audit, out, canvas=Canvas())
