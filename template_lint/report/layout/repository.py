"""Where a finding is in the user's repository: the file and line at which a review tool can show it.

Paths are relative to the folder of the run; inside a GitHub workflow to GITHUB_WORKSPACE, where that holds the folder.
A Hub model and standard input have no file there: their findings stand where the user's lock or configuration names
them, or nowhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from template_lint.model import Anchor, Finding, Place, TargetReport, TemplateReport
from template_lint.report.layout.embedded import Embedded, embedded
from template_lint.report.layout.excerpt import source_lines

_MAX_BYTES = 64 << 20
_LOCAL = ("file", "directory", "gguf")


class Spot(NamedTuple):
    """A file, and as far as it is known the line or the exact range.

    ``path`` is relative, with slashes; ``inside`` says whether it lies in the repository. ``place`` counts in
    ``text``, the text of the file; of ``line`` (1-based) no more is known than the line.
    """

    path: str
    inside: bool
    line: int | None = None
    place: Place | None = None
    text: str = ""

    @property
    def first_line(self) -> int | None:
        """The line at which the finding begins, if any is known."""
        return self.place.line if self.place is not None else self.line


class Repository:
    """Finds the places of findings; remembers the JSON files it has read."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        here = Path.cwd()
        workspace = environ.get("GITHUB_WORKSPACE")
        self._roots = [here]
        if workspace and here.resolve().is_relative_to(Path(workspace).resolve()):
            self._roots = [Path(workspace)]
        self._roots.append(self._roots[0].resolve())
        self._embedded: dict[tuple[str, str], Embedded | None] = {}

    def relative(self, path: str) -> str:
        """Return ``path`` relative to the root, with slashes; it begins with ``../`` where it lies outside."""
        absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
        candidates = [absolute]
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            candidates.append(absolute.resolve())
        for candidate, root in zip(candidates, self._roots, strict=False):
            if candidate.is_relative_to(root):
                return candidate.relative_to(root).as_posix()
        try:
            return Path(os.path.relpath(absolute, self._roots[0])).as_posix()
        except ValueError:  # another drive
            return f"../{absolute.name}"

    def name(self, target: TargetReport) -> str:
        """Return what to call a target where no path of this machine may appear. Not escaped."""
        if target.kind == "stdin":
            return "<stdin>"
        return self.relative(target.target) if target.kind in _LOCAL else target.target

    def title(self, target: TargetReport, template: TemplateReport | None) -> str:
        """Return ``name``, with the commit of a Hub model and the name of the template where it takes them."""
        text = self.name(target)
        if target.repo and target.revision:
            text = f"{target.repo}@{target.revision[:12]}"
        if template is not None and (len(target.templates) > 1 or template.name != "default"):
            text += f" [{template.name}]"
        return text

    def spot(self, target: TargetReport, template: TemplateReport | None, finding: Finding) -> Spot | None:
        """Return where to show a finding; None where nothing in the repository is to blame.

        ``template`` is None for a finding about the target as a whole.
        """
        if template is None and target.anchor is not None:
            return self._anchored(target.anchor)
        path = self._path(target, finding.file or (template.file if template is not None else None))
        if path is None:
            return self._anchored(target.anchor) if target.anchor is not None else None
        shown = self.relative(path)
        spot = Spot(shown, inside=not shown.startswith("../"))
        if template is None or finding.place is None or target.kind == "gguf":
            return spot
        if finding.file not in (None, template.file):
            return spot._replace(line=finding.place.line)
        if template.pointer is None:
            return spot._replace(
                place=_without_mark(finding.place, template.source), text=template.source.removeprefix("\ufeff")
            )
        return self._in_json(spot, path, template, finding.place)

    def _anchored(self, anchor: Anchor) -> Spot:
        path = self.relative(anchor.file)
        return Spot(path, inside=not path.startswith("../"), line=anchor.line)

    def _path(self, target: TargetReport, file: str | None) -> str | None:
        if target.kind in ("file", "gguf"):
            return target.target
        if target.kind != "directory":
            return None
        # A folder without a template: what speaks for it is its first configuration file.
        name = file or next((name for name in sorted(target.files) if name.endswith("config.json")), None)
        name = name or next(iter(sorted(target.files)), None)
        return None if name is None else f"{target.target.rstrip('/')}/{name}"

    def _in_json(self, spot: Spot, path: str, template: TemplateReport, place: Place) -> Spot:
        """The range in the JSON file that holds the template, as long as the file still holds it."""
        key = (path, template.pointer or "")
        if key not in self._embedded:
            text = _read(Path(path))
            self._embedded[key] = None if text is None else embedded(text, key[1], template.source)
        found = self._embedded[key]
        if found is None or place.end_offset >= len(found.offsets):
            return spot
        start, end = found.offsets[place.offset], found.offsets[place.end_offset]
        return spot._replace(place=_place(found.text, start, end), text=found.text)


def _read(path: Path) -> str | None:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        with path.open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def _place(text: str, start: int, end: int) -> Place:
    """The place of a range within one line of a text."""
    lines = source_lines(text[:start])
    column = len(lines[-1]) + 1
    return Place(len(lines), column, len(lines), column + end - start, start, end)


def _without_mark(place: Place, source: str) -> Place:
    """Places count a byte order mark as the first column; readers of the file do not see it."""
    if not source.startswith("\ufeff"):
        return place
    return place._replace(
        column=max(place.column - (place.line == 1), 1), end_column=max(place.end_column - (place.end_line == 1), 1)
    )
