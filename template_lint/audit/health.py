"""Step-0 health: how far apart sampler and trainer are on the tokens that were sampled. Mergeable, exact.

With d = trainer - sampler (log-probabilities of one token, in nats), the importance ratio is exp(d) (PPO, Schulman et
al., 2017). Before the first update of a run both are the same model, so d should be 0 to within rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.audit.batch import Batch
from template_lint.audit.exact import GRID, Histogram, add_counts, grid_mean, grid_sum

if TYPE_CHECKING:
    from numpy import bool_, floating, int64
    from numpy.typing import NDArray

CLIP = 0.2
LOG_WIDTH, LOG_REACH = 0.001, 20_000  # +-20 nats
SEQUENCE_WIDTH, SEQUENCE_REACH = 0.01, 20_000  # +-200 nats
SURPRISAL_WIDTH, SURPRISAL_BINS = 1.0, 20
_LARGEST_LOG = 20.0  # exp() of it is below exact.LARGEST
SHARES = (0.001, 0.01, 0.05, 0.5, 0.95, 0.99, 0.999)


@dataclass(slots=True)
class Health:
    """Sums over sampled tokens with both log-probabilities finite; ``sums`` are grid sums (see ``exact``).

    ``sums``: ``log`` (d), ``distance`` (|d|), ``ratio`` (exp d, d within 20 nats), ``k3`` (exp d - 1 - d, likewise).
    ``infinite``: tokens to which the trainer gives probability 0. ``unknown``: tokens with NaN. ``surprisal``: by whole
    nats of -sampler, [tokens, grid sum of |d|].
    """

    tokens: int = 0
    sequences: int = 0
    infinite: int = 0
    unknown: int = 0
    below: int = 0
    above: int = 0
    largest: float | None = None
    smallest: float | None = None
    sums: dict[str, int] = field(default_factory=dict)
    logs: Histogram = field(default_factory=lambda: Histogram(LOG_WIDTH, LOG_REACH))
    sequence_logs: Histogram = field(default_factory=lambda: Histogram(SEQUENCE_WIDTH, SEQUENCE_REACH))
    surprisal: list[list[int]] = field(default_factory=lambda: [[0, 0] for _ in range(SURPRISAL_BINS)])

    def add(self, d: NDArray[floating], sampler: NDArray[floating]) -> None:
        """Count tokens: ``d`` and the sampler's log-probabilities, all finite."""
        import numpy as np

        if not len(d):
            return
        self.tokens += len(d)
        self.below += int((d < math.log(1 - CLIP)).sum())
        self.above += int((d > math.log(1 + CLIP)).sum())
        self._extremes(float(d.max()), float(d.min()))
        bounded = np.clip(d, -_LARGEST_LOG, _LARGEST_LOG)
        ratio = np.exp(bounded)
        for name, values in (("log", d), ("distance", np.abs(d)), ("ratio", ratio), ("k3", ratio - 1 - bounded)):
            self.sums[name] = self.sums.get(name, 0) + grid_sum(values)
        self.logs.add(d)
        bins = np.clip(-sampler / SURPRISAL_WIDTH, 0, SURPRISAL_BINS - 1).astype(np.int64)
        counts = np.bincount(bins, minlength=SURPRISAL_BINS)
        # |d| on a coarser grid: sums of integers below 2**53 are exact in float64, which bincount adds in.
        weights = np.rint(np.minimum(np.abs(d), _LARGEST_LOG) * (1 << 20))
        distances = np.bincount(bins, weights=weights, minlength=SURPRISAL_BINS)
        for index in range(SURPRISAL_BINS):
            self.surprisal[index][0] += int(counts[index])
            self.surprisal[index][1] += int(distances[index]) * (GRID >> 20)

    def _extremes(self, largest: float, smallest: float) -> None:
        self.largest = largest if self.largest is None else max(self.largest, largest)
        self.smallest = smallest if self.smallest is None else min(self.smallest, smallest)

    def merge(self, other: Health) -> None:
        """Add what another part of the data gave."""
        self.tokens += other.tokens
        self.sequences += other.sequences
        self.infinite += other.infinite
        self.unknown += other.unknown
        self.below += other.below
        self.above += other.above
        if other.largest is not None and other.smallest is not None:
            self._extremes(other.largest, other.smallest)
        add_counts(self.sums, other.sums)
        self.logs.merge(other.logs)
        self.sequence_logs.merge(other.sequence_logs)
        for own, theirs in zip(self.surprisal, other.surprisal, strict=True):
            own[0] += theirs[0]
            own[1] += theirs[1]

    def mean(self, name: str) -> float | None:
        """The mean per token of one of ``sums``; None without tokens."""
        return grid_mean(self.sums.get(name, 0), self.tokens)

    @property
    def outside(self) -> float | None:
        """Share of tokens whose ratio lies outside 1 +- CLIP, those of probability 0 among them."""
        total = self.tokens + self.infinite
        return (self.below + self.above + self.infinite) / total if total else None

    def as_json(self) -> dict[str, Any] | None:
        """Plain data; None where no token has both."""
        if not self.tokens and not self.infinite:
            return None
        log = self.mean("log")
        return {
            "tokens": self.tokens,
            "sequences": self.sequences,
            "trainer_probability_zero": self.infinite,
            "unknown": self.unknown,
            "ratio": {
                "mean": _rounded(self.mean("ratio")),
                "max": _exp(self.largest),
                "min": 0.0 if self.infinite else _exp(self.smallest),
                "percentiles": {f"{100 * share:g}": _exp(self.logs.percentile(share)) for share in SHARES},
                "outside_clip": _rounded(self.outside),
                "clip": CLIP,
            },
            "log_ratio": {"mean": _rounded(log), "mean_absolute": _rounded(self.mean("distance"))},
            "kl": {"k1": _rounded(None if log is None else -log), "k3": _rounded(self.mean("k3"))},
            "sequence_ratio": {
                "percentiles": {f"{100 * share:g}": _exp(self.sequence_logs.percentile(share)) for share in SHARES}
            },
            "histograms": {
                "log_ratio": self.logs.coarse(0.02),
                "sequence_log_ratio": self.sequence_logs.coarse(0.2),
                "distance_by_surprisal": [
                    [index * SURPRISAL_WIDTH, tokens, _rounded(grid_mean(total, tokens))]
                    for index, (tokens, total) in enumerate(self.surprisal)
                    if tokens
                ],
            },
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def _exp(value: float | None) -> float | None:
    return None if value is None else float(f"{math.exp(min(value, 700.0)):.6g}")


class RowHealth(NamedTuple):
    """Per row of a batch: sum and mean distance of d over its comparable tokens, and which rows need a closer look."""

    sums: NDArray[floating]
    distances: NDArray[floating]
    counts: NDArray[int64]
    suspicious: NDArray[bool_]


QUIET_MEAN, QUIET_MAX = 0.003, 0.1
"""Rows with a mean |d| and a largest |d| below these need no diagnosis."""


def measure(batch: Batch, health: Health) -> RowHealth:
    """Count a batch into ``health``; say which rows to diagnose."""
    import numpy as np

    count = len(batch)
    sampler, has_sampler = batch.flat(lambda row: row.logprobs)
    trainer, has_trainer = batch.flat(lambda row: row.trainer_logprobs)
    s, t, of = sampler[batch.sampled], trainer[batch.sampled], batch.sampled_row
    both = (has_sampler & has_trainer)[of]
    unknown = both & (np.isnan(s) | np.isnan(t))
    infinite = both & ~unknown & np.isneginf(t)
    good = both & ~unknown & np.isfinite(s) & np.isfinite(t)
    health.unknown += int(unknown.sum())
    health.infinite += int(infinite.sum())
    with np.errstate(invalid="ignore"):
        d = np.where(good, t - s, 0.0)
    health.add(d[good], s[good])
    counts = np.bincount(of[good], minlength=count)
    grid = np.rint(np.clip(d, -500, 500) * GRID).astype(np.int64)
    sums = _per_row(batch, grid) / GRID
    distances = _per_row(batch, np.abs(grid)) / GRID / np.maximum(counts, 1)
    whole = counts > 0
    health.sequences += int(whole.sum())
    health.sequence_logs.add(sums[whole])
    suspicious = (distances > QUIET_MEAN) | (np.bincount(of[infinite | (np.abs(d) > QUIET_MAX)], minlength=count) > 0)
    suspicious |= _odd_sampler(batch, sampler, has_sampler)
    return RowHealth(sums, distances, counts, suspicious)


def _per_row(batch: Batch, values: NDArray[int64]) -> NDArray[int64]:
    """Exact sums by row of one integer per sampled token."""
    import numpy as np

    totals: NDArray[int64] = np.concatenate([[0], np.cumsum(values)])
    ends = np.cumsum(batch.sampled_counts)
    by_row: NDArray[int64] = totals[ends] - totals[ends - batch.sampled_counts]
    return by_row


def _odd_sampler(batch: Batch, sampler: NDArray[floating], has: NDArray[bool_]) -> NDArray[bool_]:
    """Rows whose sampler log-probabilities are odd by themselves: all 0, above 0, or missing where mask is 1 and there
    where it is 0.
    """
    import numpy as np

    count, of = len(batch), batch.sampled_row
    s = sampler[batch.sampled]
    zeros = np.bincount(of[s == 0.0], minlength=count)
    above = np.bincount(of[s > 1e-4], minlength=count)
    outside = np.flatnonzero((batch.mask == 0) & (sampler != 0.0))
    stray = np.bincount(batch.rows_of(outside), minlength=count)
    odd = (zeros == batch.sampled_counts) | (above > 0) | ((stray > 0) & (zeros > 0))
    return np.asarray(has & odd & (batch.sampled_counts > 0))
