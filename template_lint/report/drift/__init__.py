"""Output formats of ``template-lint diff``: every module here is one, with a function ``write``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, TextIO, cast

if TYPE_CHECKING:
    from template_lint.lock.drift.model import DriftReport
    from template_lint.report.layout.canvas import Canvas

FORMATS = ("json", "markdown", "text")


class DriftWriter(Protocol):
    """What a format module's ``write`` looks like."""

    def __call__(self, report: DriftReport, out: TextIO, *, canvas: Canvas) -> None:
        """Write ``report`` to ``out``; ``canvas`` says how wide and colourful a text for people may be."""


def drift_writer(name: str) -> DriftWriter:
    """The function that writes one of FORMATS."""
    return cast("DriftWriter", importlib.import_module(f"{__name__}.{name}").write)
