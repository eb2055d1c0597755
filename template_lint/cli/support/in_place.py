"""Writes a fixed template back to where it came from: a text file, or the string inside a JSON file."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from template_lint.cli.support.outputs import atomic
from template_lint.errors import UsageError
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.target import TargetKind

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def place_of(snapshot: Snapshot, copy: TemplateCopy) -> Path:
    """The file that holds a template. Raises UsageError where it is not one that can be written."""
    target = snapshot.target
    if target.path is None or target.kind not in (TargetKind.FILE, TargetKind.DIRECTORY):
        raise UsageError(f"--in-place needs a file or a model folder, not {target.text}. Use -o FILE.")
    return target.path / copy.file if target.kind is TargetKind.DIRECTORY else target.path


def write_back(path: Path, copy: TemplateCopy, source: str) -> Path | None:
    """Replace the template in its file, atomically; everything else in the file stays byte for byte.

    Returns the backup that was made; None where the file is tracked by git and unchanged. Raises UsageError.
    """
    old = path.read_bytes()
    text = old.decode("utf-8")
    if copy.pointer is None:
        new = source.replace("\n", "\r\n") if "\r\n" in text else source
    else:
        new = _with_string(text, copy, source, path)
    backup = None if _is_safe_in_git(path) else _back_up(path, old)
    with atomic(path) as stream:
        stream.write(new)
    return backup


def _with_string(text: str, copy: TemplateCopy, source: str, path: Path) -> str:
    """The JSON text with the one string that is the template replaced, written as it was."""
    key = "template" if copy.pointer is not None and copy.pointer.endswith("/template") else None
    found = []
    previous = ""
    for match in _STRING.finditer(text):
        is_value = text[: match.start()].rstrip().endswith(":")
        if is_value and json.loads(match[0], strict=False) == copy.source and previous != "":
            found.append((previous, match))
        previous = json.loads(match[0], strict=False)
    wanted = key or (copy.pointer or "").rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    exact = [match for name, match in found if name == wanted]
    if len(exact) != 1:
        raise UsageError(f"cannot tell which string of {path} is the template. Use -o chat_template.jinja.")
    [match] = exact
    literal = json.dumps(source, ensure_ascii=match[0].isascii())
    return text[: match.start()] + literal + text[match.end() :]


def _is_safe_in_git(path: Path) -> bool:
    """Whether git has this very content of the file."""
    try:
        tracked = subprocess.run(
            ["git", "-C", str(path.parent), "ls-files", "--error-unmatch", "--", path.name], capture_output=True
        )
        if tracked.returncode != 0:
            return False
        status = subprocess.run(
            ["git", "-C", str(path.parent), "status", "--porcelain", "--", path.name], capture_output=True
        )
    except OSError:
        return False
    return status.returncode == 0 and not status.stdout.strip()


def _back_up(path: Path, content: bytes) -> Path:
    try:
        backup = _free_name(path)
        backup.write_bytes(content)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"cannot write {path}.bak: {reason}. Use -o FILE to write elsewhere.") from None
    return backup


def _free_name(path: Path) -> Path:
    backup = path.with_name(path.name + ".bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak{number}")
    return backup
