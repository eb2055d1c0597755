"""What is compared: a side is one target, loaded, under one version of transformers; a pair is two sides and a name."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from template_lint.errors import CannotCheckError, UsageError
from template_lint.job import Job, jobs_for
from template_lint.lock.drift.model import SideInfo
from template_lint.model import Anchor, TargetError
from template_lint.snapshot.load import load_snapshot
from template_lint.target import Target, TargetKind, parse_target

if TYPE_CHECKING:
    from template_lint.config import Options
    from template_lint.rendering.profiles import Profile
    from template_lint.scenarios.model import Scenario
    from template_lint.snapshot.model import Snapshot


class Kind(enum.Enum):
    """What two sides are to each other; sentences and advice depend on it."""

    PIN = "pin"
    TARGETS = "targets"
    VERSIONS = "versions"


class Patch(NamedTuple):
    """The training template in use for one template, and the digest of its text where that was written down."""

    name: str
    sha256: str | None = None


class Side(NamedTuple):
    """One side: ``snapshot`` is None where ``error`` says why it could not be looked at.

    ``tokenizer`` serves templates that come without one.
    """

    info: SideInfo
    profile: Profile
    snapshot: Snapshot | None
    error: TargetError | None = None
    tokenizer: Snapshot | None = None


class Pair(NamedTuple):
    """Two sides of one comparison. ``patches`` are training templates in use, by template; ``command`` names the model
    in commands; ``anchor`` is its line in the lock.
    """

    name: str
    kind: Kind
    before: Side
    after: Side
    patches: Mapping[str, Patch] = MappingProxyType({})
    command: str = ""
    anchor: Anchor | None = None


def load_side(target: Target, word: str, profile: Profile, options: Options, tokenizer: Snapshot | None = None) -> Side:
    """Load one side; what cannot be looked at becomes its error. Raises UsageError for a wrong request."""
    found: Snapshot | CannotCheckError
    try:
        found = load_snapshot(target, offline=options.offline, profile_version=profile.version)
    except CannotCheckError as error:
        found = error
    return loaded_side(target, found, word, profile, target.revision, tokenizer)


def loaded_side(
    target: Target,
    found: Snapshot | CannotCheckError,
    word: str,
    profile: Profile,
    requested: str | None,
    tokenizer: Snapshot | None = None,
) -> Side:
    """The side of a target that was looked at, or the error that kept us out."""
    info = SideInfo(word, target.text, profile.label, target.repo, None, requested)
    if isinstance(found, CannotCheckError):
        return Side(info, profile, None, TargetError(found.kind, str(found)))
    return side_of(found, info, profile, tokenizer)


def side_of(snapshot: Snapshot, info: SideInfo, profile: Profile, tokenizer: Snapshot | None = None) -> Side:
    """A side from a snapshot that is already there."""
    return Side(info._replace(revision=snapshot.revision), profile, snapshot, None, tokenizer)


def pair_of_targets(one: str, other: str, profile: Profile, options: Options) -> Pair:
    """Two targets, whatever they are. Raises UsageError for a folder of many templates, or standard input twice."""
    targets = [single_target(text) for text in (one, other)]
    if all(target.kind is TargetKind.STDIN for target in targets):
        raise UsageError("standard input can be read only once. Name a file for one of the two sides.")
    tokenizer = _tokenizer(profile, options)
    before, after = (
        load_side(target, word, profile, options, tokenizer=tokenizer)
        for target, word in zip(targets, ("before", "after"), strict=True)
    )
    return Pair(f"{one} -> {other}", Kind.TARGETS, before, after, command=other)


def pair_of_versions(text: str, profiles: tuple[Profile, Profile], options: Options) -> Pair:
    """One target under two versions of transformers."""
    target = single_target(text)
    if target.kind is TargetKind.STDIN:
        raise UsageError("standard input can be read only once. Name a file to compare versions.")
    before, after = (
        load_side(target, profile.label, profile, options, tokenizer=_tokenizer(profile, options))
        for profile in profiles
    )
    return Pair(text, Kind.VERSIONS, before, after, command=text)


def single_target(text: str) -> Target:
    """A target that is one model or file. Raises UsageError for a folder that holds several."""
    from template_lint.snapshot.expand import expand_targets

    parts = list(expand_targets(parse_target(text)))
    if len(parts) != 1:
        raise UsageError(f"{text} holds {len(parts)} templates or models. Name one of them to compare it.")
    return parts[0]


def _tokenizer(profile: Profile, options: Options) -> Snapshot | None:
    if options.tokenizer is None:
        return None
    return load_snapshot(parse_target(options.tokenizer), offline=options.offline, profile_version=profile.version)


def job_of(side: Side, name: str, conversations: list[Scenario]) -> Job:
    """The worker's job for one template of a side. Raises CannotCheckError as loading its special tokens does."""
    assert side.snapshot is not None
    jobs = jobs_for(side.snapshot, side.profile, tokenizer=side.tokenizer, conversations=conversations)
    return next(job for job in jobs if job.copy.name == name)
