"""Fits the temperature at which one side's distribution gives the other side's log-probabilities.

With q the log-probabilities of one side at a position, raised to the power b and normalised again: the token y gets
b * q_y - log sum_v exp(b * q_v). If q is the sampler's at temperature tau and the trainer scored at 1, b is tau.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import floating
    from numpy.typing import NDArray

_MOST_POSITIONS = 512
_LARGEST_TAIL = 0.05
_LEAST_POSITIONS = 8
_LOW, _HIGH, _STEPS = 0.05, 20.0, 60


class Fit(NamedTuple):
    """``exponent`` b; root mean square of what is left at b (``residual``) and at 1 (``before``), in nats."""

    exponent: float
    residual: float
    before: float
    positions: int


def fit_temperature(top: NDArray[floating], own: NDArray[floating], other: NDArray[floating]) -> Fit | None:
    """Least squares in b, by golden section on log b, over positions whose list holds nearly all of the mass.

    ``top``: [N, K], NaN where nothing was recorded; ``own``: log-probability of the token itself on the same side, [N];
    ``other``: on the other side, [N]. The mass outside the list is taken to be as many tokens as fit, each as likely as
    the last of the list; so far from 1 (at 0.3, of 20 tokens) the fit leans towards 1. None where too few positions
    have such a list.
    """
    import numpy as np

    shown = np.where(np.isfinite(top), top, -np.inf)
    mass = np.exp(shown).sum(axis=1)
    usable = np.flatnonzero((mass > 1 - _LARGEST_TAIL) & (mass < 1.01))[:_MOST_POSITIONS]
    if len(usable) < _LEAST_POSITIONS:
        return None
    lists, own, other = shown[usable], own[usable], other[usable]
    tail = np.maximum(1 - mass[usable], 0.0)
    last = np.where(np.isfinite(lists), lists, np.inf).min(axis=1)

    def residual(exponent: float) -> float:
        total = np.exp(exponent * lists).sum(axis=1) + tail * np.exp((exponent - 1) * last)
        left = other - (exponent * own - np.log(total))
        return float(np.sqrt((left * left).mean()))

    exponent = _minimum(residual)
    return Fit(round(exponent, 4), residual(exponent), residual(1.0), len(usable))


def _minimum(function: object) -> float:
    import math

    assert callable(function)
    golden = (math.sqrt(5) - 1) / 2
    low, high = math.log(_LOW), math.log(_HIGH)
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(math.exp(left)), function(math.exp(right))
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(math.exp(right))
    return math.exp((low + high) / 2)
