"""The lock -> pairs: what each model was when it was pinned, and what its requested revision is now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from template_lint.errors import UsageError
from template_lint.lock.drift.model import SideInfo
from template_lint.lock.drift.sides import Kind, Pair, Patch, Side, load_side
from template_lint.lock.model import FILE_NAME, Lock, LockEntry
from template_lint.lock.reading import find_lock, read_lock
from template_lint.model import Anchor, TargetError
from template_lint.rendering.profiles import resolve_profile
from template_lint.target import Target, TargetKind, parse_target

if TYPE_CHECKING:
    from template_lint.config import Options
    from template_lint.rendering.profiles import Profile

PINNED, LIVE = "pinned", "live"


def pairs_of_lock(name: str | None, lock_file: Path | None, version: str | None, options: Options) -> list[Pair]:
    """The pair of one model of the lock, or of all. ``version`` overrides the transformers version of the lock.

    Raises UsageError where there is no lock, LockError where it cannot be used.
    """
    path = lock_file or find_lock(Path.cwd())
    if path is None:
        raise UsageError(
            f"there is no {FILE_NAME} in this folder or above. Write one with `template-lint lock TARGET...`, or give "
            "two targets to compare."
        )
    lock = read_lock(path, _shown(path))
    profile = resolve_profile(version or lock.transformers)
    return [_pair(entry, lock, path, profile, options) for entry in _entries(lock, name)]


def _shown(path: Path) -> str:
    """The path of the lock as the user should see it: from the current folder, where it lies below."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve()).as_posix()
    except ValueError:
        return path.as_posix()


def _entries(lock: Lock, name: str | None) -> list[LockEntry]:
    if name is None:
        return list(lock.entries)
    plain = name.removeprefix("hf:")
    entry = lock.find(plain)
    if entry is not None:
        return [entry]
    known = ", ".join(entry.name for entry in lock.entries[:5]) or "no model"
    more = f" and {len(lock.entries) - 5} more" if len(lock.entries) > 5 else ""
    raise UsageError(
        f"{name} is not in {lock.file}, which pins {known}{more}. Pin it with `template-lint lock {name}`, or give two "
        "targets to compare."
    )


def _pair(entry: LockEntry, lock: Lock, path: Path, profile: Profile, options: Options) -> Pair:
    if entry.repo is None:
        before, after = _local_sides(entry, path, profile, options)
    else:
        before, after = _hub_sides(entry, entry.repo, lock, profile, options)
    patches = {
        template.name: Patch(template.patch.name, template.patch.sha256)
        for template in entry.templates
        if template.patch is not None
    }
    return Pair(
        name=entry.name,
        kind=Kind.PIN,
        before=before,
        after=after,
        patches=patches,
        command=entry.name,
        anchor=Anchor(lock.file, entry.line) if entry.line else None,
    )


def _hub_sides(entry: LockEntry, repo: str, lock: Lock, profile: Profile, options: Options) -> tuple[Side, Side]:
    pinned = Target(f"{repo}@{entry.revision}", TargetKind.HUB, repo=repo, revision=entry.revision)
    requested = entry.requested or "main"
    live = Target(f"{repo}@{requested}", TargetKind.HUB, repo=repo, revision=requested)
    before = load_side(pinned, PINNED, profile, options, requested=entry.requested)
    if before.snapshot is not None:
        before = _verified(before, before.snapshot.files, entry, lock)
    return before, load_side(live, LIVE, profile, options, requested=requested)


def _verified(side: Side, files: Mapping[str, str], entry: LockEntry, lock: Lock) -> Side:
    """The pinned side, or its error where the files of the pinned commit are not those that the lock recorded."""
    recorded = {name: digest.removeprefix("sha256:") for name, digest in entry.files.items()}
    wrong = sorted(name for name in recorded.keys() | files.keys() if recorded.get(name) != files.get(name))
    if not wrong:
        return side
    message = (
        f"{lock.file}:{entry.line}: the hashes of {entry.name} are not those of revision {(entry.revision or '')[:7]} "
        f"({', '.join(wrong[:3])}). The revision was changed alone: run `template-lint lock` to record what it holds."
    )
    return side._replace(snapshot=None, error=TargetError("stale-lock", message))


def _local_sides(entry: LockEntry, path: Path, profile: Profile, options: Options) -> tuple[Side, Side]:
    """A local model: the files of the pin are not kept, so only an unchanged one can be compared."""
    assert entry.path is not None
    live = load_side(parse_target((path.parent / entry.path).as_posix()), LIVE, profile, options)
    info = SideInfo(PINNED, entry.path, profile.label)
    if live.snapshot is None:
        return live._replace(info=info), live
    recorded = sorted(digest.removeprefix("sha256:") for digest in entry.files.values())
    if recorded == sorted(live.snapshot.files.values()):
        return live._replace(info=info), live
    message = (
        f"{entry.path} changed since it was pinned, and the pinned files are not kept. Compare two copies with "
        f"`template-lint diff OLD {entry.path}`, or accept the new one: `template-lint lock --upgrade {entry.path}`."
    )
    return Side(info, profile, None, TargetError("not-kept", message)), live
