"""Why sampler and trainer disagree about a trajectory: one cause, told from the others by what only it does.

d is trainer minus sampler on sampled tokens, in nats. Causes are asked in an order in which each is safe to name once
those before it are out: values that cannot be log-probabilities, then tokens that are not compared with themselves
(shift, mask, drift), then distributions that differ (truncation, constant, temperature), then rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from template_lint.audit.health import QUIET_MAX, QUIET_MEAN
from template_lint.audit.invariants import ROUNDING
from template_lint.audit.model import Diagnosis, DriftResult, TopLogprobs, Trajectory
from template_lint.audit.moved import moved_from
from template_lint.audit.temperature import fit_temperature

if TYPE_CHECKING:
    from numpy import bool_, floating, int64
    from numpy.typing import NDArray

DRIFT, TEMPERATURE, TRUNCATION, GREEDY, PRECISION, SHIFT, LOGITS, MISPLACED, UNEXPLAINED = (
    f"TLA{number}" for number in range(31, 40)
)
LIKE_TEMPERATURE = "temperature?"
"""A note of what is unexplained: it grows with surprisal, and distributions that would prove it are missing."""
CAUSES = (DRIFT, TEMPERATURE, TRUNCATION, GREEDY, PRECISION, SHIFT, LOGITS, MISPLACED, UNEXPLAINED)

_PHRASES = {
    DRIFT: "mean |d| {mean_distance_before:.2g} before token {first:.0f}, {mean_distance_after:.2g} from there on",
    f"{DRIFT} moved": "mean |d| {mean_distance_before:.2g} before token {first:.0f}, {mean_distance_after:.2g} "
    "from there on, and {mean_distance_moved:.2g} with the sampler's list moved by {step:+.0f}",
    TEMPERATURE: "at {tau:.3g}, {positions:.0f} positions are {residual:.2g} nat apart in place of {before:.2g}",
    GREEDY: "{tokens:.0f} sampled tokens",
    PRECISION: "mean |d| {mean_distance:.2g}, mean d {mean:+.1g}, correlation of |d| with surprisal {growth:.2f}",
    SHIFT: "mean |d| is {mean_distance:.2g}, and {mean_distance_shifted:.2g} with the sampler's list moved by one",
    MISPLACED: "{zero_inside:.0f} tokens with mask 1 have none recorded, {recorded_outside:.0f} with mask 0 have one",
    UNEXPLAINED: "mean |d| {mean_distance:.2g}, mean d {mean:+.2g}, correlation of d with surprisal {slope:.2f}",
    f"{TRUNCATION} trainer": "the trainer gives probability 0 to {zero_probability:.0f} sampled tokens",
    f"{TRUNCATION} sampler": "d is hardly above 0, {mean_log_mass:.2g} on average, down to log {least_mass:.2g}",
    f"{LOGITS} sampler": "{percent:.0f} % of the sampler's values are above 0, up to {max:.3g}",
    f"{LOGITS} trainer": "{percent:.0f} % of the trainer's values are above 0, up to {max:.3g}",
    f"{LOGITS} constant": "d is {offset:+.3g} at every token, to within {spread:.2g}",
}
"""What the evidence says; d is trainer minus sampler in nats."""


def phrase(diagnosis: Diagnosis) -> str:
    """The evidence of a diagnosis in words."""
    pattern = _PHRASES.get(f"{diagnosis.cause} {diagnosis.note}") or _PHRASES[diagnosis.cause]
    return pattern.format(**diagnosis.evidence)


MIN_TOKENS = 16
"""Fewer sampled tokens prove nothing."""
_EXPLAINED = 0.25
"""A cause explains a disagreement if at most this share of it is left once the cause is taken away."""
_SMALL = 0.06
"""A mean |d| that rounding can make: bf16 keeps 8 bits, which is a few hundredths of a nat."""


class _Row(NamedTuple):
    """What the questions below need. ``s``, ``t``, ``d``: on the sampled tokens with both finite, at ``at``."""

    whole: Trajectory
    drift: DriftResult | None
    sampled: NDArray[bool_]
    at: NDArray[int64]
    s: NDArray[floating]
    t: NDArray[floating]
    d: NDArray[floating]
    distance: float


def diagnose(row: Trajectory, drift: DriftResult | None) -> Diagnosis | None:
    """The cause for one trajectory, None where sampler and trainer agree or too little is known."""
    import numpy as np

    if row.logprobs is None:
        return None
    sampled = row.mask == 1
    inside = row.logprobs[sampled]
    inside = inside[~np.isnan(inside)]
    if len(inside) < MIN_TOKENS:
        return None
    alone = _unnormalised(inside, row.trainer_logprobs, sampled) or _greedy(inside)
    if alone is not None:
        return alone
    if row.trainer_logprobs is None:
        return _misplaced_without_trainer(row, sampled)
    cut = np.isneginf(row.trainer_logprobs) & sampled
    if cut.any():
        return Diagnosis(TRUNCATION, float(cut.sum()), {"zero_probability": float(cut.sum())}, "trainer")
    finite = sampled & np.isfinite(row.logprobs) & np.isfinite(row.trainer_logprobs)
    finite &= (row.logprobs <= ROUNDING) & (row.trainer_logprobs <= ROUNDING)  # a few of these are TLA07's affair
    at: NDArray[int64] = np.flatnonzero(finite).astype(np.int64)
    if len(at) < MIN_TOKENS:
        return None
    s, t = row.logprobs[at], row.trainer_logprobs[at]
    d = t - s
    distance = float(np.abs(d).mean())
    if distance < QUIET_MEAN and float(np.abs(d).max()) < QUIET_MAX:
        return None
    known = _Row(row, drift, sampled, at, s, t, d, distance)
    for question in _QUESTIONS:
        found = question(known)
        if found is not None:
            return found
    return _unexplained(known)


def diagnose_recorded(row: Trajectory, drift: DriftResult | None) -> Diagnosis | None:
    """As ``diagnose``, for a mask known to be wrong: tokens for which the sampler recorded nothing are left out."""
    import numpy as np

    assert row.logprobs is not None
    return diagnose(replace(row, mask=np.where(row.logprobs == 0.0, 0, row.mask)), drift)


def _unnormalised(
    inside: NDArray[floating], trainer: NDArray[floating] | None, sampled: NDArray[bool_]
) -> Diagnosis | None:
    sides = {"sampler": inside}
    if trainer is not None:
        sides["trainer"] = trainer[sampled]
    for side, values in sides.items():
        above = float((values > ROUNDING).mean())
        if above >= 0.02:
            return Diagnosis(LOGITS, above, {"percent": 100 * above, "max": float(values.max())}, side)
    return None


def _greedy(inside: NDArray[floating]) -> Diagnosis | None:
    import numpy as np

    if float(np.abs(inside).max()) > 1e-9:
        return None
    return Diagnosis(GREEDY, float(len(inside)), {"tokens": float(len(inside))})


def _misplaced_without_trainer(row: Trajectory, sampled: NDArray[bool_]) -> Diagnosis | None:
    """Recorded values begin and end beside the mask: that much is certain without the trainer's."""
    import numpy as np

    assert row.logprobs is not None
    recorded = row.logprobs != 0.0
    stray, missing = int((recorded & ~sampled).sum()), int((~recorded & sampled).sum())
    first = int(np.flatnonzero(sampled)[0])
    # Values for the whole prompt are no sign of it: some engines return those too.
    if stray < 2 or missing < 2 or recorded[:first].mean() > 0.5 or stray > sampled.sum():
        return None
    return Diagnosis(MISPLACED, float(missing), {"zero_inside": float(missing), "recorded_outside": float(stray)})


def _moved(row: _Row) -> Diagnosis | None:
    """Both agree up to one token and, with the list moved, behind it: the buffer's tokens are not the sampled ones."""
    s, t = row.whole.logprobs, row.whole.trainer_logprobs
    assert s is not None and t is not None
    found = moved_from(s, t, row.sampled) if row.distance > 0.05 else None
    if found is None or found.as_recorded < 0.1:
        return None
    evidence = {
        "first": float(found.first),
        "step": float(found.step),
        "mean_distance_before": found.before,
        "mean_distance_after": found.as_recorded,
        "mean_distance_moved": found.behind,
    }
    return Diagnosis(DRIFT, found.as_recorded, evidence, "moved")


def _shift(row: _Row) -> Diagnosis | None:
    """The sampler's list belongs to the token before or after: shifted back by one, both agree."""
    import numpy as np

    s, t = row.whole.logprobs, row.whole.trainer_logprobs
    assert s is not None and t is not None
    for step in (1, -1):
        moved = np.roll(s, -step)
        use = row.sampled & np.roll(row.sampled, -step) & np.isfinite(t) & np.isfinite(moved)
        use[-1 if step == 1 else 0] = False
        if use.sum() < MIN_TOKENS // 2:
            continue
        left = float(np.abs(t[use] - moved[use]).mean())
        if row.distance > 0.1 and left < _EXPLAINED * row.distance:
            return Diagnosis(SHIFT, float(step), {"mean_distance": row.distance, "mean_distance_shifted": left})
    return None


def _misplaced(row: _Row) -> Diagnosis | None:
    """The tokens that disagree are those for which the sampler recorded nothing: it never sampled them."""
    import numpy as np

    silent = row.s == 0.0
    if silent.sum() < 2 or silent.all() or float(row.t[silent].mean()) > -0.3:
        return None
    left = float(np.abs(row.d[~silent]).mean())
    if left > _EXPLAINED * row.distance or float(np.abs(row.d[silent]).mean()) < 0.3:
        return None
    assert row.whole.logprobs is not None
    stray = float(((row.whole.logprobs != 0.0) & ~row.sampled).sum())
    evidence = {"zero_inside": float(silent.sum()), "recorded_outside": stray, "mean_distance_elsewhere": left}
    return Diagnosis(MISPLACED, float(silent.sum()), evidence)


def _drifted(row: _Row) -> Diagnosis | None:
    """Both agree up to the token at which the re-encoded buffer parts from the recorded one, and not behind it."""
    import numpy as np

    if row.drift is None or row.drift.verdict == "CLEAN":
        return None
    before = row.at < row.drift.first
    if before.sum() < 4 or before.all():
        return None
    earlier, later = float(np.abs(row.d[before]).mean()), float(np.abs(row.d[~before]).mean())
    if later < 0.05 or earlier > _EXPLAINED * later:
        return None
    evidence = {"first": float(row.drift.first), "mean_distance_before": earlier, "mean_distance_after": later}
    return Diagnosis(DRIFT, later, evidence)


def _constant(row: _Row) -> Diagnosis | None:
    """One side is off by the same amount everywhere: a normaliser is missing."""
    offset, spread = float(row.d.mean()), float(row.d.std())
    if abs(offset) < 0.1 or spread > 0.1 * abs(offset):
        return None
    return Diagnosis(LOGITS, offset, {"offset": offset, "spread": spread}, "constant")


def _temperature(row: _Row) -> Diagnosis | None:
    """Re-tempered, one side's distribution gives the other side's values."""
    for top, other, swap in ((row.whole.top, row.t, False), (row.whole.trainer_top, row.s, True)):
        if top is None:
            continue
        own = row.s if not swap else row.t
        fit = fit_temperature(top.logprobs[row.at], own, other)
        if fit is None or fit.residual > _EXPLAINED * fit.before or abs(fit.exponent - 1) < 0.02:
            continue
        tau = fit.exponent if not swap else 1 / fit.exponent
        evidence = {"tau": tau, "residual": fit.residual, "before": fit.before, "positions": float(fit.positions)}
        return Diagnosis(TEMPERATURE, tau, evidence)
    return None


def _truncation(row: _Row) -> Diagnosis | None:
    """The sampler renormalised what top-p or top-k left, so it is above the trainer, most where tokens are unlikely.

    d = log(mass that was kept), between log(top_p) and 0. A lower temperature of the sampler also makes d negative on
    average, but raises it for unlikely tokens; a higher one lowers it there, but raises it for likely tokens as much.
    """
    import numpy as np

    upward, downward = float(np.maximum(row.d, 0).sum()), float(np.maximum(-row.d, 0).sum())
    mean, slope = float(row.d.mean()), _correlation(-row.s, row.d)
    kept = float(np.exp(np.quantile(row.d, 0.01)))
    recorded = row.whole.top_p
    floor = 0.15 if recorded is None or recorded >= 1 else min(0.8 * recorded, 0.9)
    if upward > 0.15 * downward or mean > -0.004 or slope > -0.1 or kept < floor:
        return None
    evidence = {"mean_log_mass": mean, "least_mass": kept, "upward_share": upward / max(downward, 1e-12)}
    cut_off = _cut_off(row.whole.top)
    if cut_off is not None:
        evidence["lists_that_end_early"] = cut_off
    return Diagnosis(TRUNCATION, mean, evidence, "sampler")


def _cut_off(top: TopLogprobs | None) -> float | None:
    """Share of positions with -inf among the most likely tokens."""
    import numpy as np

    if top is None:
        return None
    recorded = ~np.isnan(top.logprobs).all(axis=1)
    return float(np.isneginf(top.logprobs[recorded]).any(axis=1).mean()) if recorded.any() else None


def _precision(row: _Row) -> Diagnosis | None:
    """Small, to both sides, and larger where the token was less likely."""
    import numpy as np

    if row.distance > _SMALL:
        return None
    mean, spread = float(row.d.mean()), float(row.d.std())
    if abs(mean) > 0.3 * row.distance + 3 * spread / math.sqrt(len(row.d)):
        return None
    growth, slope = _correlation(-row.s, np.abs(row.d)), _correlation(-row.s, row.d)
    # Rounding knows no direction; what follows surprisal to one side is a distribution of another shape.
    if growth < 0.1 or abs(slope) > max(0.4, 3 / math.sqrt(len(row.d))):
        return None
    return Diagnosis(PRECISION, row.distance, {"mean": mean, "mean_distance": row.distance, "growth": growth})


def _unexplained(row: _Row) -> Diagnosis:
    import numpy as np

    slope = _correlation(-row.s, row.d)
    upward, downward = float(np.maximum(row.d, 0).sum()), float(np.maximum(-row.d, 0).sum())
    evidence = {"mean": float(row.d.mean()), "mean_distance": row.distance, "slope": slope}
    unknown = row.whole.top is None and row.whole.trainer_top is None
    tempered = slope > 0.3 or (slope < -0.3 and upward > 0.4 * downward)
    return Diagnosis(UNEXPLAINED, row.distance, evidence, LIKE_TEMPERATURE if unknown and tempered else "")


def _correlation(x: NDArray[floating], y: NDArray[floating]) -> float:
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float((x * x).sum()) * float((y * y).sum()))
    return float((x * y).sum()) / scale if scale > 0 else 0.0


_QUESTIONS: tuple[Callable[[_Row], Diagnosis | None], ...] = (
    _moved,
    _shift,
    _misplaced,
    _drifted,
    _constant,
    _truncation,
    _temperature,
    _precision,
)
