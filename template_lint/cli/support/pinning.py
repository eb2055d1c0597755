"""The options ``--pinned`` and ``--live``, shared by the commands that take targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from template_lint.errors import UsageError
from template_lint.target import Target

_Function = TypeVar("_Function", bound=Callable[..., Any])


def pin_options(function: _Function) -> _Function:
    """Add ``--pinned`` and ``--live`` to a command."""
    live = click.option("--live", is_flag=True, help="Models of template-lint.lock at the revision that was requested.")
    pinned = click.option("--pinned", is_flag=True, help="Models of template-lint.lock as they are pinned there.")
    return pinned(live(function))


def choose(targets: Sequence[str], *, pinned: bool, live: bool, lock: Path | None = None) -> list[str | Target]:
    """The targets to look at; see ``lock.pins.choose``. Without either option the lock pins Hub names.

    ``lock`` is the lock file; None means that of the current folder.
    """
    if pinned and live:
        raise UsageError("--pinned and --live exclude each other. Drop one.")
    if not pinned and not live and not any(_may_be_hub(text) for text in targets):
        return list(targets)
    from template_lint.lock import pins

    mode = pins.Mode.PINNED if pinned else pins.Mode.LIVE if live else pins.Mode.AUTO
    return pins.choose(targets, mode, lock=lock)


def _may_be_hub(text: str) -> bool:
    """Whether a word may name a repository; what lies on disk needs no lock to be read."""
    return text.startswith("hf:") or ("/" in text and not os.path.exists(text))  # noqa: PTH110  (pathlib costs more)
