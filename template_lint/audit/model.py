"""The nouns of the audit: a recorded trajectory, where it stands, what is wrong with it, what is known about it.

Arrays are one-dimensional numpy arrays with one entry per token of the buffer, prompt included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.errors import CannotCheckError

if TYPE_CHECKING:
    from numpy import floating, int64
    from numpy.typing import NDArray


class NothingToAuditError(CannotCheckError):
    """No trajectory could be read: nothing matched, nothing is in it, or every row is bad. Exit 3."""

    kind = "nothing-to-audit"


class StrictRowError(CannotCheckError):
    """A bad row was met under ``--strict``. Exit 3."""

    kind = "bad-row"


class Origin(NamedTuple):
    """Where a trajectory stands: index of the file in the run, 1-based row (for JSON lines: line), 0-based step.

    ``step`` is 0 but for rows that hold several trajectories. Origins sort in the order of reading.
    """

    file: int
    row: int
    step: int = 0


class RowError(NamedTuple):
    """A row that could not be read as a trajectory. ``kind`` is a stable word (``not-json``, ``no-field`` ...)."""

    origin: Origin
    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopLogprobs:
    """The most likely tokens at each position and their natural log-probabilities, both of shape [T, K].

    T is the length of the buffer. A missing entry has id -1 and log-probability NaN; -inf is a token that was cut off.
    Row j belongs to ids[j]: it is the distribution that ids[j] was drawn from.
    """

    ids: NDArray[int64]
    logprobs: NDArray[floating]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trajectory:
    """One buffer as it was recorded: what the trainer would train on.

    ``ids``: int64 [T]. ``mask``: 1 for each sampled token, else 0; uint8, or float64 where other values were recorded;
    its length is T unless the row is at fault. ``logprobs`` and ``trainer_logprobs``: natural log-probabilities of
    ids[j] given what stands before it, as the sampler and as the trainer computed them, float64 [T], 0.0 where nothing
    was recorded (the prompt), NaN for null; None where the row has none. ``prompt_length``: how many tokens were given
    to the sampler; None if unknown. ``rollout`` and ``turn`` name the steps of one rollout, each a longer buffer.
    ``messages`` (the conversation, or its prompt), ``tools`` and ``kwargs`` are what the prompt is rendered from.
    ``truncated``: whether the last turn was cut off, None if nobody says. ``top`` are the sampler's most likely tokens,
    ``trainer_top`` the trainer's. ``assumed`` says what the row did not say and was filled in.
    """

    origin: Origin
    ids: NDArray[int64]
    mask: NDArray[Any]
    logprobs: NDArray[floating] | None = None
    trainer_logprobs: NDArray[floating] | None = None
    prompt_length: int | None = None
    rollout: str | None = None
    turn: int | None = None
    messages: Sequence[Any] | None = None
    tools: Sequence[Any] | None = None
    kwargs: Mapping[str, Any] | None = None
    truncated: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    top: TopLogprobs | None = None
    trainer_top: TopLogprobs | None = None
    assumed: str = ""


class Flaw(NamedTuple):
    """One broken invariant of one trajectory: the code of the rule, the values that show it, the token it shows at.

    ``position`` is a 0-based token index, None where the buffer as a whole is at fault.
    """

    rule: str
    message: str
    position: int | None = None


class DriftResult(NamedTuple):
    """A buffer against the re-encoding of its decoded text; the words are those of ``tito.drift``.

    ``verdict`` is ``CLEAN``, ``REALIGN`` or ``FORK``; ``drifted`` counts tokens; ``silent`` is true where as many other
    ids come back; ``mismatch`` is None for CLEAN. ``first`` and ``end`` bound the tokens that changed.
    """

    verdict: str
    drifted: int = 0
    silent: bool = False
    straddling: int = 0
    mismatch: str | None = None
    first: int = 0
    end: int = 0


class Diagnosis(NamedTuple):
    """Why sampler and trainer disagree about one trajectory (see ``causes``).

    ``cause`` is the code of the rule that names it. ``value`` is the one figure that measures it (a fitted temperature,
    a shift in tokens, a mean in nats ...), ``evidence`` all figures that speak for it.
    """

    cause: str
    value: float
    evidence: Mapping[str, float] = {}
    note: str = ""


class Token(NamedTuple):
    """One token of a strip: its text with undecodable bytes as U+FFFD, its mask bit, trainer minus sampler in nats.

    ``log_ratio`` is None where one of both was not recorded. ``changed``: re-encoding gives another token here.
    """

    id: int
    text: str
    sampled: bool
    log_ratio: float | None
    changed: bool


class Strip(NamedTuple):
    """A stretch of a bad trajectory, for people to look at.

    ``start`` is the index of the first of ``tokens`` in the buffer. ``again`` are the tokens that re-encoding gives for
    the changed ones among them, as (id, text).
    """

    origin: Origin
    score: float
    what: str
    length: int
    start: int
    tokens: tuple[Token, ...]
    again: tuple[tuple[int, str], ...] = ()

    @property
    def rank(self) -> tuple[float, Origin]:
        """Sorts the worst first; no two strips of one list have the same rank."""
        return -self.score, self.origin


class TrajectoryResult(NamedTuple):
    """What one trajectory's audit gave. Small: no arrays.

    ``asked`` are the codes of the invariants that could be asked of it. ``sequence_log_ratio`` is the sum of trainer
    minus sampler over sampled tokens, None without both. ``stranger``: no token opens or ends a turn of the target.
    ``note``: why the prompt could not be compared, a note of its rule; empty where nothing is to be said.
    """

    origin: Origin
    tokens: int
    sampled: int
    flaws: tuple[Flaw, ...] = ()
    asked: tuple[str, ...] = ()
    drift: DriftResult | None = None
    sequence_log_ratio: float | None = None
    mean_log_distance: float | None = None
    diagnosis: Diagnosis | None = None
    stranger: bool = False
    note: str = ""
