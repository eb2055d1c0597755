"""A folder of templates -> one target per template file or model folder beneath it. Reads names only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from template_lint.errors import CannotCheckError
from template_lint.snapshot.files import TEMPLATE_SUFFIXES, unreadable
from template_lint.snapshot.folder import is_model_folder
from template_lint.target import Target, TargetKind

if TYPE_CHECKING:
    from template_lint.snapshot.exclude import Excluder

_SKIPPED_FOLDERS = frozenset({"node_modules", "venv", "__pycache__"})


def expand_targets(target: Target, excluded: Excluder | None = None) -> list[Target]:
    """The targets that a target stands for, sorted by path.

    A model folder, and anything but a folder, stands for itself. Any other folder stands for every template file
    (``.jinja``, ``.jinja2``, ``.j2``, ``.gguf``) and every model folder beneath it; hidden names, virtual environments,
    node_modules and what ``excluded`` matches are skipped, and linked folders are not followed. Raises
    CannotCheckError: ``nothing-matched`` where there is none, ``unreadable`` where a folder cannot be listed.
    """
    if target.pin is not None or target.kind is not TargetKind.DIRECTORY:
        return [target]
    if target.path is None or is_model_folder(target.path):
        return [target]
    found: list[Target] = []
    waiting = [target.path]
    while waiting:
        folder = waiting.pop()
        for entry in _entries(folder):
            path = folder / entry.name
            if excluded is not None and excluded(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name in _SKIPPED_FOLDERS:
                    continue
                if is_model_folder(path):
                    found.append(_target(path, TargetKind.DIRECTORY))
                else:
                    waiting.append(path)
            elif entry.is_file() and path.suffix.lower() in TEMPLATE_SUFFIXES:
                found.append(_target(path, TargetKind.FILE))
            elif entry.is_file() and path.suffix.lower() == ".gguf":
                found.append(_target(path, TargetKind.GGUF))
    if not found:
        left_out = f" ({excluded.count} excluded)" if excluded is not None and excluded.count else ""
        raise CannotCheckError(
            f"nothing to check in {target.text}: no model folder and no {', '.join(TEMPLATE_SUFFIXES)} or .gguf file "
            f"in it or beneath it{left_out}. Name the folder or file that holds the template.",
            kind="nothing-matched",
        )
    return sorted(found, key=lambda child: child.text)


def _target(path: Path, kind: TargetKind) -> Target:
    return Target(text=path.as_posix(), kind=kind, path=path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        raise unreadable(folder.as_posix(), error) from error
