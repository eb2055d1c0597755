"""The lock -> pairs: what each model was when it was pinned, and what its requested revision is now."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from template_lint.errors import CannotCheckError, UsageError
from template_lint.lock.drift.model import SideInfo
from template_lint.lock.drift.sides import Kind, Pair, Patch, Side, loaded_side
from template_lint.lock.model import FILE_NAME, Lock, LockEntry
from template_lint.lock.pins import Pins
from template_lint.lock.reading import find_lock
from template_lint.model import Anchor, TargetError
from template_lint.rendering.profiles import resolve_profile
from template_lint.snapshot.load import load_snapshots
from template_lint.snapshot.model import Snapshot
from template_lint.target import Target

if TYPE_CHECKING:
    from template_lint.config import Options
    from template_lint.rendering.profiles import Profile

PINNED, LIVE = "pinned", "live"
Progress = Callable[[int, int, str], None]
_Found = tuple[Target, Snapshot | CannotCheckError]


def pairs_of_lock(
    name: str | None,
    lock_file: Path | None,
    version: str | None,
    options: Options,
    progress: Progress | None = None,
) -> list[Pair]:
    """The pair of one model of the lock, or of all. ``version`` overrides the transformers version of the lock.

    ``progress`` is called with (done, total, name) while files are fetched. Raises UsageError where there is no lock,
    LockError where it cannot be used.
    """
    path = lock_file or find_lock(Path.cwd())
    if path is None:
        raise UsageError(
            f"there is no {FILE_NAME} in this folder or above. Write one with `template-lint lock TARGET...`, or give "
            "two targets to compare."
        )
    pins = Pins.read(path)
    profile = resolve_profile(version or pins.lock.transformers)
    entries = _entries(pins.lock, name)
    targets = [target for entry in entries for target in (pins.pinned(entry), pins.live(entry))]
    found = load_snapshots(targets, offline=options.offline, profile_version=profile.version, progress=progress)
    looked_at = list(zip(targets, found, strict=True))
    return [_pair(entry, pins, profile, *looked_at[2 * index : 2 * index + 2]) for index, entry in enumerate(entries)]


def _entries(lock: Lock, name: str | None) -> list[LockEntry]:
    if name is None:
        return list(lock.entries)
    entry = lock.find(name.removeprefix("hf:"))
    if entry is not None:
        return [entry]
    known = ", ".join(entry.name for entry in lock.entries[:5]) or "no model"
    more = f" and {len(lock.entries) - 5} more" if len(lock.entries) > 5 else ""
    raise UsageError(
        f"{name} is not in {lock.file}, which pins {known}{more}. Pin it with `template-lint lock {name}`, or give two "
        "targets to compare."
    )


def _pair(entry: LockEntry, pins: Pins, profile: Profile, pinned: _Found, live: _Found) -> Pair:
    after = loaded_side(*live, LIVE, profile, entry.requested)
    before = loaded_side(*pinned, PINNED, profile, entry.requested) if entry.repo else _local_pin(entry, after)
    patches = {
        template.name: Patch(template.patch.name, template.patch.sha256)
        for template in entry.templates
        if template.patch is not None
    }
    anchor = Anchor(pins.lock.file, entry.line) if entry.line else None
    return Pair(entry.name, Kind.PIN, before, after, patches, entry.name, anchor)


def _local_pin(entry: LockEntry, live: Side) -> Side:
    """The pinned side of a local model: its files are not kept, so only an unchanged one can be compared."""
    assert entry.path is not None
    info = SideInfo(PINNED, entry.path, live.profile.label)
    if live.snapshot is None:
        return live._replace(info=info)
    recorded = sorted(digest.removeprefix("sha256:") for digest in entry.files.values())
    if recorded == sorted(live.snapshot.files.values()):
        return live._replace(info=info)
    message = (
        f"{entry.path} changed since it was pinned, and the pinned files are not kept. Compare two copies with "
        f"`template-lint diff OLD {entry.path}`, or accept the new one: `template-lint lock --upgrade {entry.path}`."
    )
    return Side(info, live.profile, None, TargetError("not-kept", message))
