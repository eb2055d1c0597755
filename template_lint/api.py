"""The Python API; the command line is one of its users."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Report


def check(
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    config: Options | str | os.PathLike[str] | None = None,
    **options: Any,
) -> Report:
    """Check one target or several and return the Report.

    ``target`` is a path, ``org/name[@revision]``, or a list of them; None means the targets of ``config``. That is
    Options, or the path of a configuration file (template-lint.yaml or pyproject.toml); without it, none is read.
    Keyword options are those of ``Options`` (``select``, ``transformers``, ``tokenizer``, ...) and override
    ``config``. Raises UsageError for a wrong request; what could not be looked at is in the report. Templates are
    rendered in worker processes.
    """
    from template_lint.engine import check as check_targets

    if isinstance(config, str | os.PathLike):
        from template_lint.settings import read_settings

        config = read_settings(Path(config)).options()
    chosen = (config or Options())._replace(**options)
    if target is None:
        target = [spec.target for spec in chosen.targets]
        if not target:
            raise UsageError("no target is given, and the configuration names none. Name one.")
    targets = [target] if isinstance(target, str | os.PathLike) else list(target)
    return check_targets([os.fspath(text) for text in targets], chosen)
