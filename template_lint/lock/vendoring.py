"""The folder of stored files: what a lock pins, beside the code, so that it is there without a network.

``VENDOR/org/name/`` holds the prompt-shaping files of one model; transformers loads it as it is. No weights, no code.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from template_lint.errors import CannotCheckError, UsageError
from template_lint.lock.model import Lock, LockEntry
from template_lint.snapshot import hub
from template_lint.snapshot.files import ADDITIONAL_FOLDER, sha256_file
from template_lint.snapshot.pinned import hashes

_ATTRIBUTES = "# The digests in the lock are of these bytes: git must not convert line ends.\n* -text\n"


def store(lock: Lock, folder: Path, *, offline: bool, before: Lock | None = None) -> int:
    """Make the vendor folder of ``lock``, which lies in ``folder``, hold just what it pins; the files written.

    ``before`` is the lock there was: what only it stored is removed. Files come from the huggingface_hub cache, or from
    the Hub. Raises CannotCheckError where a file is not to be had as pinned, UsageError where it cannot be written.
    """
    assert lock.vendor is not None
    root = folder / lock.vendor
    _refuse_outside(root, folder)
    pinned = [entry for entry in lock.entries if entry.repo is not None]
    missing = [entry for entry in pinned if not _is_stored(entry, root)]
    results = hub.fetch_all([(entry.repo or "", entry.revision) for entry in missing], offline=offline)
    written = 0
    try:
        for entry, fetched in zip(missing, results, strict=True):
            if isinstance(fetched, CannotCheckError):
                raise fetched
            written += _copy(entry, fetched.folder, root, folder)
        _remove(_left_over(before, lock) if before is not None else (), root)
        if pinned:
            attributes = root / ".gitattributes"
            if not attributes.exists():
                attributes.write_text(_ATTRIBUTES, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot store files in {lock.vendor}: {error.strerror or error}.") from None
    return written


def unstore(lock: Lock, folder: Path) -> None:
    """Remove everything that ``lock``, which lies in ``folder``, stored."""
    assert lock.vendor is not None
    root = folder / lock.vendor
    if not root.is_dir():
        return
    _refuse_outside(root, folder)
    try:
        _remove((entry for entry in lock.entries if entry.repo is not None), root)
        attributes = root / ".gitattributes"
        if attributes.is_file() and attributes.read_text(encoding="utf-8") == _ATTRIBUTES:
            attributes.unlink()
        with contextlib.suppress(OSError):
            root.rmdir()
    except OSError as error:
        raise UsageError(f"cannot remove what is stored in {lock.vendor}: {error.strerror or error}.") from None


def _is_stored(entry: LockEntry, root: Path) -> bool:
    assert entry.repo is not None
    try:
        return _bare(entry) == hashes(root / entry.repo)
    except CannotCheckError:
        return False


def _bare(entry: LockEntry) -> dict[str, str]:
    return {name: digest.removeprefix("sha256:") for name, digest in entry.files.items()}


def _copy(entry: LockEntry, source: Path, root: Path, folder: Path) -> int:
    assert entry.repo is not None
    wanted = _bare(entry)
    place = root / entry.repo
    present = hashes(place) if place.is_dir() else {}
    for name in present.keys() - wanted.keys():
        (place / name).unlink()
    changed = [name for name in sorted(wanted) if present.get(name) != wanted[name]]
    for name in changed:
        target = place / name
        _refuse_outside(target.parent, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            if not (source / name).is_file():
                raise CannotCheckError(f"{entry.repo} has no {name} at {entry.revision}. {_refresh(entry)}")
            shutil.copyfile(source / name, partial)
            if sha256_file(partial, name) != wanted[name]:
                raise CannotCheckError(
                    f"{name} of {entry.repo} at {entry.revision} is not what the lock pins. {_refresh(entry)}",
                    kind="changed",
                )
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return len(changed)


def _refresh(entry: LockEntry) -> str:
    return f"Run `template-lint lock {entry.name}`."


def _left_over(before: Lock, lock: Lock) -> list[LockEntry]:
    names = {entry.name.lower() for entry in lock.entries}
    return [entry for entry in before.entries if entry.repo is not None and entry.name.lower() not in names]


def _remove(entries: Iterable[LockEntry], root: Path) -> None:
    """Remove what was stored for models that are pinned no more: the files of their blocks, and empty folders."""
    for entry in entries:
        assert entry.repo is not None
        place = root / entry.repo
        for name in entry.files:
            (place / name).unlink(missing_ok=True)
        for empty in (place / ADDITIONAL_FOLDER, place, place.parent):
            with contextlib.suppress(OSError):
                if empty != root:
                    empty.rmdir()


def _refuse_outside(place: Path, folder: Path) -> None:
    """A link in the repository must not lead our writing out of it."""
    if not place.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{place.as_posix()} leads out of {folder.as_posix()} by a link. Store the files elsewhere.")
