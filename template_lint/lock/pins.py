"""Which targets a lock pins: the words of a command line -> targets at their pin, or at the revision requested."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from template_lint.errors import UsageError
from template_lint.lock.model import FILE_NAME, Lock, LockEntry
from template_lint.lock.reading import find_lock, read_lock
from template_lint.model import Anchor
from template_lint.target import Pin, Target, TargetKind, parse_target


class Mode(enum.Enum):
    """Which revision of a locked model is meant: ``AUTO`` takes the pin where no revision is named."""

    AUTO = "auto"
    PINNED = "pinned"
    LIVE = "live"


class Pins:
    """A lock and the folder it lies in."""

    def __init__(self, lock: Lock, folder: Path) -> None:
        self.lock = lock
        self.folder = folder

    @classmethod
    def read(cls, path: Path) -> Pins:
        """Read a lock. Raises LockError."""
        return cls(read_lock(path, shown(path)), path.parent)

    def pinned(self, entry: LockEntry) -> Target:
        """The target of an entry as the lock has it: its stored files, or the Hub at that commit."""
        vendored = self.vendored(entry)
        pin = Pin(
            files={name: digest.removeprefix("sha256:") for name, digest in entry.files.items()},
            anchor=Anchor(self.lock.file, entry.line),
            folder=vendored,
            shown_folder=shown(vendored) if vendored is not None else "",
            problem=self.problem(entry),
        )
        if entry.repo is not None:
            return Target(entry.repo, TargetKind.HUB, repo=entry.repo, revision=entry.revision, pin=pin)
        return self._local(entry)._replace(pin=pin)

    def live(self, entry: LockEntry) -> Target:
        """The target of an entry as it is now: the Hub at the revision that was requested, or the local files."""
        if entry.repo is not None:
            text = f"{entry.repo}@{entry.requested}"
            return Target(text, TargetKind.HUB, repo=entry.repo, revision=entry.requested)
        return self._local(entry)

    def vendored(self, entry: LockEntry) -> Path | None:
        """Where the stored files of an entry lie; None where the lock stores none, or the entry is local."""
        if self.lock.vendor is None or entry.repo is None:
            return None
        return self.folder / self.lock.vendor / entry.repo

    def problem(self, entry: LockEntry) -> str | None:
        """Why an entry is not to be trusted: its block was changed since it was written; None where it was not."""
        if entry.seal == entry.computed_seal():
            return None
        return (
            f"{self.lock.file}:{entry.line}: the block of {entry.name} was changed since it was written, so its "
            f"digests may belong to another revision. Run `template-lint lock {entry.name}` to refresh them."
        )

    def _local(self, entry: LockEntry) -> Target:
        assert entry.path is not None
        path = self.folder / entry.path
        return parse_target(shown(path)) if path.exists() else Target(shown(path), TargetKind.DIRECTORY, path=path)

    def entry_of(self, target: Target) -> LockEntry | None:
        """The entry that pins a target, None where there is none."""
        if target.kind is TargetKind.HUB:
            return self.lock.find(target.repo or "")
        if target.path is None:
            return None
        path = relative(target.path, self.folder)
        return self.lock.find(path) if path is not None else None


def choose(
    texts: Sequence[str], mode: Mode, folder: Path | None = None, lock: Path | None = None
) -> list[str | Target]:
    """The words of a command line, those that the lock of ``folder`` (default: the current one) knows as targets.

    ``lock`` names the lock file itself.

    No words and a mode other than AUTO mean every model of the lock. With AUTO a Hub target without a revision is taken
    at its pin, where there is a lock that has it. Raises LockError for a lock that cannot be read, UsageError where
    PINNED or LIVE ask for what no lock has.
    """
    if mode is Mode.AUTO and not any(_may_be_pinned(text) for text in texts):
        return list(texts)
    path = lock or find_lock(folder or Path.cwd())
    if path is None:
        if mode is Mode.AUTO:
            return list(texts)
        raise UsageError(f"--{mode.value}: there is no {FILE_NAME} here. Write it with `template-lint lock TARGET...`.")
    pins = Pins.read(path)
    if not texts and mode is not Mode.AUTO:
        at = pins.pinned if mode is Mode.PINNED else pins.live
        return [at(entry) for entry in pins.lock.entries]
    return [_chosen(text, mode, pins) for text in texts]


def _chosen(text: str, mode: Mode, pins: Pins) -> str | Target:
    if mode is Mode.AUTO and not _may_be_pinned(text):
        return text
    target = parse_target(text)
    entry = pins.entry_of(target)
    if mode is Mode.AUTO:
        return text if entry is None else pins.pinned(entry)
    if target.revision is not None:
        raise UsageError(f"--{mode.value} and the revision of {text} exclude each other. Drop one.")
    if entry is None:
        raise UsageError(f"{pins.lock.file} has no {text}. Add it with `template-lint lock {text}`.")
    return pins.pinned(entry) if mode is Mode.PINNED else pins.live(entry)


def _may_be_pinned(text: str) -> bool:
    """Whether a word is a Hub repository without a revision. Reads no file but asks whether one is there."""
    try:
        target = parse_target(text)
    except UsageError:
        return False
    return target.kind is TargetKind.HUB and target.revision is None


def relative(path: Path, folder: Path) -> str | None:
    """A path as a lock in ``folder`` writes it, None where it does not lie below that folder."""
    try:
        inside = path.resolve().relative_to(folder.resolve())
    except ValueError:
        return None
    return PurePosixPath(inside).as_posix()


def shown(path: Path) -> str:
    """A path as the user should see it: relative to the current folder where it lies below."""
    try:
        return path.absolute().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
