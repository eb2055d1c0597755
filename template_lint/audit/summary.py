"""What is known about any number of trajectories, mergeable: counts, exact histograms, and the worst few to look at.

``merge`` is associative, and the summary of a whole is the merge, in order, of the summaries of its parts: byte for
byte, however it was cut. The order matters only for turns of one rollout that stand on both sides of a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.audit.causes import phrase
from template_lint.audit.exact import Histogram, add_counts
from template_lint.audit.health import Health
from template_lint.audit.invariants import HISTORY, PROMPT
from template_lint.audit.model import Flaw, Origin, RowError, Strip, Trajectory, TrajectoryResult

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

MOST_EXAMPLES = 5
MOST_ERRORS = 20
MOST_STRIPS = 10
_COUNTS = ("rows", "trajectories", "tokens", "sampled", "with_logprobs", "with_trainer", "strangers", "bad_rows")


class Example(NamedTuple):
    """A trajectory that a rule found, and what it found there."""

    origin: Origin
    message: str
    position: int | None = None


@dataclass(slots=True)
class Tally:
    """How many trajectories a rule was asked of and found, and the first few. ``tokens`` are sampled ones of these.

    ``values`` counts the figure that measures a diagnosis; ``notes`` its variants.
    """

    asked: int = 0
    found: int = 0
    tokens: int = 0
    examples: list[Example] = field(default_factory=list)
    values: Histogram = field(default_factory=lambda: Histogram(0.001, 1_000_000))
    notes: dict[str, int] = field(default_factory=dict)

    def merge(self, other: Tally) -> None:
        """Add what the following part gave."""
        self.asked += other.asked
        self.found += other.found
        self.tokens += other.tokens
        self.examples = sorted([*self.examples, *other.examples])[:MOST_EXAMPLES]
        self.values.merge(other.values)
        add_counts(self.notes, other.notes)


class Edge(NamedTuple):
    """The buffer at one end of a part, to be compared with its neighbour beyond the cut."""

    rollout: str
    turn: int | None
    origin: Origin
    ids: NDArray[int64]


@dataclass(slots=True)
class Summary:
    """See the module. ``unreadable``: (file index, reason) of files that could not be read to their end."""

    rows: int = 0
    trajectories: int = 0
    tokens: int = 0
    sampled: int = 0
    with_logprobs: int = 0
    with_trainer: int = 0
    strangers: int = 0
    assumed: dict[str, int] = field(default_factory=dict)
    bad_rows: int = 0
    bad_kinds: dict[str, int] = field(default_factory=dict)
    errors: list[RowError] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    drift: dict[str, int] = field(default_factory=dict)
    drift_shares: Histogram = field(default_factory=lambda: Histogram(0.01, 100))
    worst_drift: list[Strip] = field(default_factory=list)
    worst_ratio: list[Strip] = field(default_factory=list)
    health: Health = field(default_factory=Health)
    first: Edge | None = None
    last: Edge | None = None

    def tally(self, rule: str) -> Tally:
        """The tally of a rule, made where there is none."""
        return self.tallies.setdefault(rule, Tally())

    def add_error(self, error: RowError) -> None:
        """Count a bad row."""
        self.bad_rows += 1
        add_counts(self.bad_kinds, {error.kind: 1})
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error)

    def add(self, row: Trajectory, result: TrajectoryResult) -> None:
        """Count a trajectory that follows all counted before. Its tokens' ratios are counted by ``health.measure``."""
        self.trajectories += 1
        self.tokens += result.tokens
        self.sampled += result.sampled
        self.with_logprobs += row.logprobs is not None
        self.with_trainer += row.trainer_logprobs is not None
        self.strangers += result.stranger
        if result.note:
            add_counts(self.tally(PROMPT).notes, {result.note: 1})
        if row.assumed:
            add_counts(self.assumed, {row.assumed: 1})
        for rule in result.asked:
            self.tally(rule).asked += 1
        for flaw in result.flaws:
            self.found(flaw, result.origin, result.sampled)
        if result.drift is not None:
            self._add_drift(result)
        if result.diagnosis is not None:
            self._add_diagnosis(result)
        self._follow(row)

    def found(self, flaw: Flaw, origin: Origin, tokens: int) -> None:
        """Count a flaw."""
        tally = self.tally(flaw.rule)
        tally.found += 1
        tally.tokens += tokens
        if len(tally.examples) < MOST_EXAMPLES:
            tally.examples.append(Example(origin, flaw.message, flaw.position))

    def _add_drift(self, result: TrajectoryResult) -> None:
        drift = result.drift
        assert drift is not None
        counts = {
            drift.verdict: 1,
            "drifted_tokens": drift.drifted,
            "silent": int(drift.silent),
            "straddling": drift.straddling,
            "checked_tokens": result.tokens,
        }
        if drift.mismatch is not None:
            counts[f"mismatch {drift.mismatch}"] = 1
        add_counts(self.drift, {key: count for key, count in counts.items() if count})
        if drift.verdict != "CLEAN":
            import numpy as np

            self.drift_shares.add(np.array([drift.drifted / result.tokens]))

    def _add_diagnosis(self, result: TrajectoryResult) -> None:
        import numpy as np

        diagnosis = result.diagnosis
        assert diagnosis is not None
        tally = self.tally(diagnosis.cause)
        tally.values.add(np.array([diagnosis.value]))
        if diagnosis.note:
            add_counts(tally.notes, {diagnosis.note: 1})
        self.found(Flaw(diagnosis.cause, phrase(diagnosis)), result.origin, result.sampled)

    def _follow(self, row: Trajectory) -> None:
        if row.rollout is None:
            self.last = None
            return
        edge = Edge(row.rollout, row.turn, row.origin, row.ids)
        if self.last is not None:
            self._compare(self.last, edge)
        if self.first is None and self.trajectories == 1:
            self.first = edge
        self.last = edge

    def _compare(self, earlier: Edge, later: Edge) -> None:
        """TLA12: the buffer of a later turn of one rollout begins with that of the turn before."""
        if earlier.rollout != later.rollout or earlier.origin.file != later.origin.file:
            return
        self.tally(HISTORY).asked += 1
        flaw = history_flaw(earlier, later)
        if flaw is not None:
            self.found(flaw, later.origin, 0)

    def add_strips(self, drift: Iterable[Strip], ratio: Iterable[Strip]) -> None:
        """Keep the worst."""
        self.worst_drift = worst([*self.worst_drift, *drift])
        self.worst_ratio = worst([*self.worst_ratio, *ratio])

    def merge(self, other: Summary) -> None:
        """Add the summary of the part that follows this one. ``other`` must not be used afterwards."""
        if self.last is not None and other.first is not None:
            self._compare(self.last, other.first)
        if not self.trajectories:
            self.first = other.first
        if other.trajectories:
            self.last = other.last
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for own, theirs in (
            (self.assumed, other.assumed),
            (self.bad_kinds, other.bad_kinds),
            (self.drift, other.drift),
        ):
            add_counts(own, theirs)
        self.errors = [*self.errors, *other.errors][:MOST_ERRORS]
        self.unreadable += other.unreadable
        for rule, tally in other.tallies.items():
            self.tally(rule).merge(tally)
        self.drift_shares.merge(other.drift_shares)
        self.add_strips(other.worst_drift, other.worst_ratio)
        self.health.merge(other.health)


def history_flaw(earlier: Edge, later: Edge) -> Flaw | None:
    """TLA12 for two neighbouring turns of one rollout."""
    import numpy as np

    length = min(len(earlier.ids), len(later.ids))
    differ = np.flatnonzero(earlier.ids[:length] != later.ids[:length])
    if not len(differ) and len(later.ids) >= len(earlier.ids):
        return None
    at = int(differ[0]) if len(differ) else length
    message = (
        f"turn {later.turn} does not begin with the {len(earlier.ids)} tokens of turn {earlier.turn} of rollout "
        f"{earlier.rollout!r}: they part at token {at}"
    )
    return Flaw(HISTORY, message, at)


def worst(strips: Sequence[Strip]) -> list[Strip]:
    """The worst few, the worst first."""
    return sorted(strips, key=lambda strip: strip.rank)[:MOST_STRIPS]


def tally_as_json(tally: Tally, files: Sequence[str]) -> dict[str, Any]:
    """Plain data."""
    return {
        "asked": tally.asked,
        "found": tally.found,
        "sampled_tokens": tally.tokens,
        "examples": [
            {**origin_as_json(example.origin, files), "message": example.message, "token": example.position}
            for example in tally.examples
        ],
        "variants": dict(sorted(tally.notes.items())),
    }


def origin_as_json(origin: Origin, files: Sequence[str]) -> dict[str, Any]:
    """Plain data: the file's name, the 1-based row, the 0-based step in it."""
    return {"file": files[origin.file], "row": origin.row, "step": origin.step}
