"""Loading what a lock pins: every file is compared with its digest before anything of it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from template_lint.errors import CannotCheckError
from template_lint.snapshot import files
from template_lint.snapshot.folder import load_folder
from template_lint.snapshot.model import Snapshot
from template_lint.target import Pin, Target, TargetKind

if TYPE_CHECKING:
    from template_lint.snapshot.hub import Fetched


def load_pinned(
    target: Target, pin: Pin, *, offline: bool, profile_version: tuple[int, int], fetched: Fetched | None = None
) -> Snapshot:
    """Load a target that carries a pin: from the folder of stored files where there is one, else as any other.

    Raises CannotCheckError: ``stale-lock`` where the pin itself is not to be trusted, ``changed`` where a file is not
    as it was pinned, and whatever loading the target raises.
    """
    if pin.problem is not None:
        raise CannotCheckError(pin.problem, kind="stale-lock")
    if target.kind is not TargetKind.HUB:
        from template_lint.snapshot.load import load_snapshot

        snapshot = load_snapshot(target._replace(pin=None), profile_version=profile_version)
        found = dict(snapshot.files)
        if target.kind is TargetKind.FILE:  # known by its path as the user wrote it, pinned by its path from the lock
            found = dict(zip(pin.files, found.values(), strict=False))
        _compare(found, target, pin, where=target.text)
        return snapshot._replace(target=target)
    if pin.folder is not None:
        _compare(hashes(pin.folder, pin.files), target, pin, where=pin.shown_folder)
        folder = pin.folder
    else:
        from template_lint.snapshot import hub

        assert target.repo is not None
        folder = (fetched or hub.fetch(target.repo, target.revision, offline=offline)).folder
        _compare(hashes(folder, pin.files), target, pin, where="")
    return load_folder(target, folder, profile_version=profile_version, repo=target.repo, revision=target.revision)


def hashes(folder: Path, expected: Iterable[str] = ()) -> dict[str, str]:
    """Name -> sha256 (hex) of every prompt-shaping file that is in a folder, and of the ``expected`` ones."""
    names = [name for name in {*files.PROMPT_SHAPING_FILES, *expected} if files.is_file(folder / name, name)]
    additional = folder / files.ADDITIONAL_FOLDER
    if additional.is_dir():
        found = (path.name for path in additional.iterdir() if path.name.endswith(".jinja") and path.is_file())
        names += [f"{files.ADDITIONAL_FOLDER}/{name}" for name in found]
    return {name: files.sha256_file(folder / name, name) for name in sorted(set(names))}


def _compare(found: Mapping[str, str], target: Target, pin: Pin, *, where: str) -> None:
    """Raise CannotCheckError for the first file that is missing, not pinned, or has another digest."""
    for name in sorted({*found, *pin.files}):
        if found.get(name) == pin.files.get(name):
            continue
        file = f"{where}/{name}" if where else f"{name} of {target.text}"
        if target.kind is TargetKind.FILE:
            file = target.text
        if name not in found:
            problem = f"{file} is missing"
        elif name not in pin.files:
            problem = f"{file} is not in the lock"
        else:
            problem = f"{file} has sha256 {found[name][:12]}..., pinned is {pin.files[name][:12]}..."
        at = f" (commit {target.revision[:12]})" if target.revision else ""
        raise CannotCheckError(
            f"{problem}{at}: it is not what {pin.anchor.file}:{pin.anchor.line} pins. {_remedy(pin, target)}",
            kind="changed",
        )


def _remedy(pin: Pin, target: Target) -> str:
    accept = f"`template-lint lock {target.text}`"
    if pin.folder is not None:
        return f"Restore the file, or store it again with {accept}."
    if target.kind is TargetKind.HUB:
        return f"If the revision was changed, run {accept}; else someone altered the files of a commit."
    return f"Look at what changed; accept it with {accept}."
