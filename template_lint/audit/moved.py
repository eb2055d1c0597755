"""Lists that agree up to one token, and behind it only when one is moved: a token was put in or taken out there.

That is what re-encoding does to a buffer whose log-probabilities stay those of the sampled ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import bool_, floating
    from numpy.typing import NDArray

_STEPS = (1, -1, 2, -2, 3, -3, 4, -4)
_LEAST_BEFORE, _LEAST_AFTER = 4, 8
_LEFT = 0.25
"""The cut explains a disagreement if at most this share of it is left, with the list moved behind it."""


class Moved(NamedTuple):
    """From token ``first`` on the sampler's value of ids[j] stands at j + ``step``.

    Means of |d| in nats: ``before`` that token; ``behind`` it with the list moved, and there ``as_recorded``.
    """

    first: int
    step: int
    before: float
    behind: float
    as_recorded: float


def moved_from(sampler: NDArray[floating], trainer: NDArray[floating], sampled: NDArray[bool_]) -> Moved | None:
    """The cut that explains why two lists [T] disagree on the tokens ``sampled``, None where none does."""
    import numpy as np

    best: tuple[float, Moved] | None = None
    for step in _STEPS:
        there = np.roll(sampler, -step)
        use = sampled & np.roll(sampled, -step) & np.isfinite(trainer) & np.isfinite(sampler) & np.isfinite(there)
        use[-step if step > 0 else 0 : None if step > 0 else -step] = False
        at = np.flatnonzero(use)
        if len(at) < _LEAST_BEFORE + _LEAST_AFTER:
            continue
        here_off, there_off = np.abs(trainer[at] - sampler[at]), np.abs(trainer[at] - there[at])
        before = np.concatenate([[0.0], np.cumsum(here_off)])
        behind = there_off.sum() - np.concatenate([[0.0], np.cumsum(there_off)])
        cut = _LEAST_BEFORE + int(np.argmin((before + behind)[_LEAST_BEFORE : len(at) - _LEAST_AFTER + 1]))
        left = float(before[cut] + behind[cut])
        if left > _LEFT * min(float(here_off.sum()), float(there_off.sum())):
            continue
        rest = len(at) - cut
        means = float(before[cut]) / cut, float(behind[cut]) / rest, float(here_off[cut:].sum()) / rest
        if best is None or left < best[0]:
            best = left, Moved(int(at[cut]), step, *means)
    return None if best is None else best[1]
