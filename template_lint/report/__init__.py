"""Output formats. Every module here is one format with a function ``write``; what they share is in ``layout``.

A format only writes to the stream it is given: choosing streams and files is the command line's business.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from template_lint.errors import UsageError

if TYPE_CHECKING:
    from template_lint.model import Report
    from template_lint.report.layout.canvas import Canvas


class Writer(Protocol):
    """What a format module's ``write`` looks like."""

    def __call__(self, report: Report, out: TextIO, *, canvas: Canvas) -> None:
        """Write ``report`` to ``out``; ``canvas`` says how wide and colourful a text for people may be."""


def formats() -> list[str]:
    """Return the names of all formats, sorted; ``code-scanning`` is the module ``code_scanning``."""
    import pkgutil

    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if not module.ispkg)


def check_format(name: str, known: Sequence[str] | None = None) -> None:
    """Raise UsageError where ``name`` is none of the formats ``known`` (default: those of this package)."""
    if known is None and _is_module(name.replace("-", "_")):
        return
    known = formats() if known is None else known
    if name not in known:
        import difflib

        near = difflib.get_close_matches(name.lower(), known, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"unknown output format {name!r}.{hint} Choose one of: {', '.join(known)}.")


def _is_module(name: str) -> bool:
    """Whether a module of this package has the name; asked of one name, because listing all costs start-up."""
    if not name.isidentifier():
        return False
    spec = importlib.util.find_spec(f"{__name__}.{name}")
    return spec is not None and spec.submodule_search_locations is None


def writer(name: str) -> Writer:
    """Return the function that writes the format ``name``; raises UsageError for an unknown one."""
    check_format(name)
    return cast("Writer", importlib.import_module(f"{__name__}.{name.replace('-', '_')}").write)
