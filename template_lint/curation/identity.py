"""What makes a finding the same finding tomorrow: its rule, its file and the source it blames. Never a line, never an
absolute path.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from template_lint.model import Finding, TargetReport, TemplateReport

_LONGEST = 160
# Evidence that says what is wrong, not how often or in which conversation.
_TELLING = (
    "kind",
    "name",
    "names",
    "copy",
    "pointer",
    "error",
    "field",
    "role",
    "token",
    "marker",
    "depends_on",
    "key",
    "dropped",
)


class Identity(NamedTuple):
    """The key of a finding in a baseline. ``target`` is the path of the file that holds the template, relative to the
    baseline's folder, or ``hf:org/name/file``; ``template`` its name where it is not ``default``.
    """

    target: str
    template: str
    rule: str
    content: str


def identity(target: TargetReport, template: TemplateReport | None, finding: Finding, root: Path) -> Identity:
    """The identity of a finding of a template, or (``template`` None) of a whole target."""
    name = "" if template is None or template.name == "default" else template.name
    source = "" if template is None else template.source
    return Identity(place_key(target, template, root), name, finding.rule, _content(finding, source))


def place_key(target: TargetReport, template: TemplateReport | None, root: Path) -> str:
    """Where a template lies: the same for a model folder and for the file in it, from whatever folder it is checked."""
    file = template.file if template is not None else None
    if target.repo is not None:
        return f"hf:{target.repo}/{file}" if file else f"hf:{target.repo}"
    if target.kind == "stdin":
        return "-"
    path = Path(target.target)
    if target.kind == "directory" and file:
        path = path / file
    return Path(os.path.relpath(path.absolute(), root.absolute())).as_posix()


def _content(finding: Finding, source: str) -> str:
    """The blamed source in one line; without a place, what the evidence says beyond any single conversation."""
    place = finding.place
    if place is not None and source:
        text = source.replace("\r\n", "\n").replace("\r", "\n")
        blamed = text[place.offset : place.end_offset]
        return _short(blamed if blamed.strip() else text.split("\n")[place.line - 1])
    cause = finding.evidence.get("cause")
    if isinstance(cause, dict) and cause.get("source"):
        return _short(str(cause["source"]))
    return _short(" ".join(f"{key}={_plain(finding.evidence[key])}" for key in _TELLING if key in finding.evidence))


def _plain(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)


def _short(text: str) -> str:
    words = " ".join(text.split())
    if len(words) <= _LONGEST:
        return words
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{words[:_LONGEST]}… sha256:{digest}"
