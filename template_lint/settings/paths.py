"""Paths of a configuration file, which are relative to it, as paths from the current folder."""

from __future__ import annotations

import os
from pathlib import Path

from template_lint.errors import UsageError
from template_lint.settings.document import SettingsError
from template_lint.target import parse_target


class Base:
    """The folder of a configuration file. ``file`` is the file's own path as shown to the user."""

    def __init__(self, path: Path) -> None:
        self.folder = path.absolute().parent
        self.file = _from_here(path.absolute()).as_posix()

    def path(self, text: str) -> Path:
        """A path of the file, from the current folder."""
        return _from_here(self.folder / text)

    def existing(self, text: str, line: int) -> Path:
        """The same, of a file that must be there. Raises SettingsError."""
        path = self.path(text)
        if not path.is_file():
            raise SettingsError(self.file, line, f"there is no file {path.as_posix()!r}.")
        return path

    def target(self, text: str, line: int) -> str:
        """A target of the file, as the command line would have to name it. Raises SettingsError."""
        if text == "-":
            raise SettingsError(self.file, line, "a configuration cannot name standard input. Give a path or org/name.")
        try:
            if not text.startswith("hf:") and (self.folder / text).exists():
                return self.path(text).as_posix()
            if self.folder != Path.cwd() and not text.startswith("hf:") and Path(text).exists():
                return f"hf:{text}"  # what lies here under that name is not what the file means
            parse_target(text)
        except (UsageError, OSError, ValueError) as error:
            raise SettingsError(self.file, line, str(error)) from None
        return text


def _from_here(path: Path) -> Path:
    try:
        return Path(os.path.relpath(path))
    except ValueError:  # on another drive
        return path
