"""The Python API; the command line is one of its users."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from template_lint.config import Options
from template_lint.model import Report


def check(
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, config: Options | None = None, **options: Any
) -> Report:
    """Check one target or several and return the Report.

    ``target`` is a path, ``org/name[@revision]``, or a list of them. Keyword options are those of ``Options``
    (``select``, ``transformers``, ``tokenizer``, ...) and override ``config``. Raises UsageError for a wrong request;
    what could not be looked at is in the report. Templates are rendered in worker processes.
    """
    from template_lint.engine import check as check_targets

    targets = [target] if isinstance(target, str | os.PathLike) else list(target)
    chosen = (config or Options())._replace(**options)
    return check_targets([os.fspath(text) for text in targets], chosen)
