"""Targets and the lock there was -> the lock there shall be. What cannot be looked at keeps its old block as it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from template_lint.errors import UsageError
from template_lint.lock.entries import entry_of
from template_lint.lock.model import Lock, LockEntry
from template_lint.lock.observing import Progress, observe
from template_lint.lock.pins import Pins, relative
from template_lint.model import TargetReport
from template_lint.rendering.profiles import Profile
from template_lint.scenarios.catalogue import catalogue_version
from template_lint.target import Target, TargetKind


class Built(NamedTuple):
    """A lock to be written, and how it came about. ``failed`` are the targets that could not be looked at.

    ``lock`` is None where nothing may be written: a block that had to be made again could not be.
    """

    lock: Lock | None
    added: list[LockEntry]
    changed: list[tuple[LockEntry, LockEntry]]
    kept: list[LockEntry]
    failed: list[TargetReport]


class _Plan(NamedTuple):
    target: Target
    requested: str | None
    path: str | None
    old: LockEntry | None


def build(
    pins: Pins | None,
    folder: Path,
    targets: Sequence[Target],
    profile: Profile,
    *,
    upgrade: bool = False,
    offline: bool = False,
    processes: int = 0,
    file: str,
    progress: Progress | None = None,
) -> Built:
    """Look at ``targets``, at the pin of those that have one unless ``upgrade``, and make the lock of ``folder``.

    No targets mean every model of the lock ``pins``; models that are not asked for are kept, and looked at again only
    where the transformers version or the catalogue is another than theirs. Raises UsageError for a target that no lock
    can hold.
    """
    old = pins.lock if pins is not None else None
    label = f"{profile.version[0]}.{profile.version[1]}"
    comparable = old is not None and (old.transformers, old.scenarios) == (label, catalogue_version())
    plans = [_plan(target, pins, folder, upgrade) for target in targets]
    if not targets and pins is not None:
        plans = [_plan(_bare(pins, entry), pins, folder, upgrade) for entry in pins.lock.entries]
    elif not comparable and pins is not None:
        asked = {plan.old.name for plan in plans if plan.old is not None}
        others = [entry for entry in pins.lock.entries if entry.name not in asked]
        plans += [_plan(_bare(pins, entry), pins, folder, upgrade=False) for entry in others]
    _refuse_twice(plans)
    observations = observe(
        [plan.target for plan in plans], profile, rules=[], offline=offline, processes=processes, progress=progress
    )
    entries = {entry.name.lower(): entry for entry in old.entries} if old is not None else {}
    built = Built(None, [], [], [], [])
    for plan, observation in zip(plans, observations, strict=True):
        if observation.report.error is not None:
            built.failed.append(observation.report)
            continue
        entry = entry_of(observation._replace(requested=plan.requested), path=plan.path)
        if plan.old is None:
            built.added.append(entry)
        elif _same(plan.old, entry):
            built.kept.append(entry)
        else:
            built.changed.append((plan.old, entry))
            del entries[plan.old.name.lower()]
        entries[entry.name.lower()] = entry
    if built.failed and (not entries or (old is not None and not comparable)):
        return built
    vendor = old.vendor if old is not None else None
    in_order = sorted(entries.values(), key=lambda entry: (entry.name.lower(), entry.name))
    lock = Lock(transformers=label, scenarios=catalogue_version(), entries=tuple(in_order), vendor=vendor, file=file)
    return built._replace(lock=lock)


def _same(old: LockEntry, new: LockEntry) -> bool:
    return old.content() == new.content() and old.seal == new.computed_seal()


def _plan(target: Target, pins: Pins | None, folder: Path, upgrade: bool) -> _Plan:
    old = pins.entry_of(target) if pins is not None else None
    if target.kind is TargetKind.HUB:
        asked = target.revision or (old.requested if old is not None else None) or "main"
        moved = old is None or upgrade or asked != old.requested
        revision = asked if moved or old is None else old.revision
        repo = old.repo if old is not None else target.repo
        return _Plan(Target(repo or "", TargetKind.HUB, repo=repo, revision=revision), asked, None, old)
    if target.kind not in (TargetKind.FILE, TargetKind.DIRECTORY) or target.path is None:
        raise UsageError(f"{target.text} cannot be locked: a lock holds Hub models, model folders and template files.")
    if not target.path.exists():
        raise UsageError(
            f"{target.text} is gone. Take it out of the lock with `template-lint lock --remove {target.text}`."
        )
    path = relative(target.path, folder)
    if path is None or path == ".":
        raise UsageError(
            f"{target.text} cannot be locked: it does not lie below {folder.as_posix()}, where the lock is. "
            "Lock it from a folder above it."
        )
    return _Plan(target, None, path, old)


def every_target(pins: Pins, more: Sequence[Target]) -> list[Target]:
    """The targets ``more``, and every model of the lock that is not one of them."""
    named = {entry.name for target in more if (entry := pins.entry_of(target)) is not None}
    return [*more, *(_bare(pins, entry) for entry in pins.lock.entries if entry.name not in named)]


def _bare(pins: Pins, entry: LockEntry) -> Target:
    if entry.repo is not None:
        return Target(entry.repo, TargetKind.HUB, repo=entry.repo)
    return pins.live(entry)


def _refuse_twice(plans: Sequence[_Plan]) -> None:
    seen: dict[str, _Plan] = {}
    for plan in plans:
        name = (plan.path or plan.target.repo or "").lower()
        if name in seen and seen[name].target != plan.target:
            raise UsageError(f"{plan.target.text} is asked for at two revisions. A lock has one per model; drop one.")
        if name in seen:
            raise UsageError(f"{plan.target.text} is named twice. Name it once.")
        seen[name] = plan
