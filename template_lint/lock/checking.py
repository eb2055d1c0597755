"""Does a lock still hold? Every model of it is looked at again at its pin, and its requested revision on the Hub."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, NamedTuple

from template_lint.errors import CannotCheckError
from template_lint.lock.entries import entry_of
from template_lint.lock.model import LockEntry, Observation
from template_lint.lock.observing import Progress, observe
from template_lint.lock.pins import Pins
from template_lint.rendering.profiles import Profile
from template_lint.scenarios.catalogue import catalogue_version
from template_lint.snapshot.load import load_snapshots
from template_lint.snapshot.model import Snapshot


class State(enum.Enum):
    """What is known of one model. ``MOVED`` is a newer commit that leaves every prompt-shaping file as it was."""

    OK = "ok"
    MOVED = "moved"
    UNSEEN = "unseen"
    BEHIND = "behind"
    STALE = "stale"
    CHANGED = "changed"
    NOT_CHECKED = "not-checked"


OUT_OF_DATE = frozenset({State.BEHIND, State.STALE, State.CHANGED})


class Checked(NamedTuple):
    """One model: its state, a sentence, the files that differ, and the commit that its requested revision has now."""

    entry: LockEntry
    state: State
    message: str
    files: tuple[str, ...] = ()
    live: str | None = None


def check_lock(
    pins: Pins,
    profile: Profile,
    *,
    offline: bool = False,
    processes: int = 0,
    progress: Progress | None = None,
) -> list[Checked]:
    """Check every model of a lock, in order.

    The pinned files must have their digests and give the prompts and verdicts that are written down; online, the
    revision that was requested must still have the same files. With ``offline`` only stored and cached files are looked
    at, and what is neither is ``UNSEEN``: its block is only checked against its seal.
    """
    entries = pins.lock.entries
    pinned = observe(
        [pins.pinned(entry) for entry in entries],
        profile,
        rules=[],
        offline=offline,
        processes=processes,
        progress=progress,
    )
    live: dict[str, Snapshot | CannotCheckError] = {}
    if not offline:
        remote = [entry for entry in entries if entry.repo is not None]
        targets = [pins.live(entry) for entry in remote]
        found = load_snapshots(targets, profile_version=profile.version, progress=progress)
        live = {entry.name: snapshot for entry, snapshot in zip(remote, found, strict=True)}
    return [
        _checked(entry, observation, live.get(entry.name), pins, profile, offline)
        for entry, observation in zip(entries, pinned, strict=True)
    ]


def _checked(
    entry: LockEntry,
    observation: Observation,
    live: Snapshot | CannotCheckError | None,
    pins: Pins,
    profile: Profile,
    offline: bool,
) -> Checked:
    error = observation.report.error
    if error is not None:
        if error.kind in ("stale-lock", "changed"):
            state = State.STALE if error.kind == "stale-lock" else State.CHANGED
            return Checked(entry, state, error.message)
        if offline and error.kind == "offline":
            return Checked(entry, State.UNSEEN, "its files are neither stored nor cached: only its block was checked")
        return Checked(entry, State.NOT_CHECKED, error.message)
    if pins.lock.scenarios != catalogue_version():
        reason = (
            f"its prompts are those of catalogue {pins.lock.scenarios}, this template-lint has {catalogue_version()}"
        )
        return Checked(entry, State.STALE, reason)
    different = differences(entry, entry_of(observation._replace(requested=entry.requested), path=entry.path))
    if different:
        label = f"{profile.version[0]}.{profile.version[1]}"
        against = f" (transformers {label}, locked {pins.lock.transformers})" if label != pins.lock.transformers else ""
        return Checked(entry, State.STALE, f"{'; '.join(different)}{against}")
    if isinstance(live, CannotCheckError):
        return Checked(entry, State.NOT_CHECKED, str(live))
    return _against_live(entry, live)


def _against_live(entry: LockEntry, live: Snapshot | None) -> Checked:
    if live is None or live.revision == entry.revision:
        return Checked(entry, State.OK, "as pinned")
    now = {name: f"sha256:{digest}" for name, digest in live.files.items()}
    files = tuple(sorted(name for name in {*now, *entry.files} if now.get(name) != entry.files.get(name)))
    to = f"{(entry.revision or '')[:12]} -> {(live.revision or '')[:12]} ({entry.requested})"
    if not files:
        return Checked(entry, State.MOVED, f"{to}: no prompt-shaping file changed", live=live.revision)
    return Checked(entry, State.BEHIND, f"{to}: changed {', '.join(files)}", files, live.revision)


def differences(old: LockEntry, new: LockEntry) -> list[str]:
    """What is written down and is not so any more, in a few words each; for entries of the same files."""
    before = {template.name: template for template in old.templates}
    after = {template.name: template for template in new.templates}
    found = [f"template {name!r} is gone" for name in before if name not in after]
    found += [f"template {name!r} is new" for name in after if name not in before]
    for name in before.keys() & after.keys():
        was, now = before[name], after[name]
        shown = f" of template {name!r}" if len(before) > 1 else ""
        verdict_was, verdict_is = _verdict(was.verdict, was.kwargs), _verdict(now.verdict, now.kwargs)
        if verdict_was != verdict_is:
            found.append(f"the verdict{shown} was {verdict_was}, is {verdict_is}")
        changed = [s for s in {**was.scenarios, **now.scenarios} if was.scenarios.get(s) != now.scenarios.get(s)]
        if was.prompts != now.prompts or was.ids != now.ids:
            what = "the prompts" if was.prompts != now.prompts else "the token ids"
            which = f": {len(changed)} of {len(now.scenarios)} scenarios, first {changed[0]}" if changed else ""
            found.append(f"{what}{shown} differ{which}")
        if was.patch != now.patch:
            found.append(f"the training template{shown} is another: {_patch(was.patch)} -> {_patch(now.patch)}")
        if not found and was != now:
            found.append(f"template {name!r} differs")
    return sorted(found)


def _verdict(word: str, kwargs: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in sorted(kwargs.items()))
    return f"{word} with {given}" if given else word


def _patch(patch: Any) -> str:
    return "none" if patch is None else f"{patch.name} {patch.sha256.removeprefix('sha256:')[:8]}"
