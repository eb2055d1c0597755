"""Formats of the audit. Every module here is one, with a function ``write(audit, out, canvas=...)``."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.audit.run import Audit
    from template_lint.report.layout.canvas import Canvas


class AuditWriter(Protocol):
    """What a format module's ``write`` looks like."""

    def __call__(self, audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
        """Write ``audit`` to ``out``."""


def formats() -> list[str]:
    """Return the names of all formats, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def check_format(name: str) -> None:
    """Raise UsageError where there is no format ``name``. Imports none."""
    if name not in formats():
        raise UsageError(f"unknown output format {name!r}. Choose one of: {', '.join(formats())}.")


def writer(name: str) -> AuditWriter:
    """Return the function that writes the format ``name``; raises UsageError for an unknown one."""
    check_format(name)
    return cast("AuditWriter", importlib.import_module(f"{__name__}.{name}").write)
