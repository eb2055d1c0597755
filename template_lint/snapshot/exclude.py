"""Patterns of paths that are left out, in the manner of .gitignore."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path


class Excluder:
    """Says which paths are left out, and counts them.

    A pattern with a slash in it is relative to ``root``; one without matches a name at any depth. ``*`` and ``?`` stay
    within a name, ``**`` crosses folders. What matches a folder matches all beneath it.
    """

    def __init__(self, patterns: Sequence[str], root: Path | None = None) -> None:
        self._root = (root or Path()).absolute()
        self._expressions = [re.compile(_expression(pattern)) for pattern in patterns]
        self._hits: set[str] = set()

    def __call__(self, path: Path) -> bool:
        """Whether the path, or a folder it lies in, is left out."""
        if not self._expressions:
            return False
        relative = Path(os.path.relpath(path.absolute(), self._root)).as_posix()
        found = any(expression.fullmatch(relative) for expression in self._expressions)
        if found:
            self._hits.add(relative)
        return found

    @property
    def count(self) -> int:
        """How many paths were left out; a folder counts once."""
        return len(self._hits)


def _expression(pattern: str) -> str:
    bare = pattern.strip("/")
    translated = "".join(_translate(part) for part in re.split(r"(\*\*/|/\*\*$|\*|\?)", bare))
    anchored = "/" in pattern.rstrip("/")
    return f"(?:{'' if anchored else '(?:.*/)?'}{translated})(?:/.*)?"


def _translate(part: str) -> str:
    return {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}.get(part, re.escape(part))
