"""Toy language models, seeded and cheap, to see what other token ids do to log-probabilities and importance ratios.

A policy gives log p(next token | previous token) for a vocabulary. It knows no text: two segmentations of one text are
as different to it as they are to a real model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from template_lint.errors import UsageError
from template_lint.tito.buffer import NoSampledTokensError

if TYPE_CHECKING:
    from numpy import floating, uint64
    from numpy.typing import NDArray

_START = -1
_WORD = (1 << 64) - 1


class Policy(Protocol):
    """A model of the next token given the one before it."""

    def log_probabilities(self, previous: Sequence[int | None], following: Sequence[int]) -> list[float]:
        """Natural log p(following[j] | previous[j]) for every j; previous None is the beginning of a text."""
        ...


class HashPolicy:
    """A policy over any vocabulary, without a table: the logit of a pair of tokens is a hash of it.

    logit(previous, next) is uniform over [-w, w), w = min(4, vocab_size / 4), from a 64-bit mix of seed and pair
    (finaliser of SplitMix64: Steele, Lea, Flood, 2014). The log-probability is the logit minus
    log(vocab_size * sinh(w) / w), the logarithm of the sum that exp(logit) is *expected* to have. So every
    log-probability lies in [-w - c, w - c) with c that constant, which is below 0 for every vocabulary of two tokens or
    more, and the probabilities of a row add up to 1 only on average: with 150,000 tokens to within about 0.5 %. Ratios
    of log-probabilities do not depend on that constant. Integers alone are mixed and the constant is rounded to 12
    decimals, so values are the same in every process and on every platform.
    """

    def __init__(self, seed: int, vocab_size: int) -> None:
        """Raise UsageError for less than two tokens: one token has log-probability 0."""
        if vocab_size < 2:
            raise UsageError(f"a policy over {vocab_size} tokens has nothing to choose from: give 2 or more.")
        self._seed = seed & _WORD
        self._width = min(4.0, vocab_size / 4)
        self._log_sum = round(math.log(vocab_size * math.sinh(self._width) / self._width), 12)

    def log_probabilities(self, previous: Sequence[int | None], following: Sequence[int]) -> list[float]:
        """See Policy. Ids outside the vocabulary are as good as any."""
        import numpy as np

        first = np.array([_START if token is None else token for token in previous], dtype=np.int64).astype(np.uint64)
        second = np.array(following, dtype=np.int64).astype(np.uint64)
        mixed = _mix(_mix(_mix(np.full(1, self._seed, dtype=np.uint64)) ^ first) ^ second)
        share = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
        values: list[float] = ((2.0 * share - 1.0) * self._width - self._log_sum).tolist()
        return values


def _mix(words: NDArray[uint64]) -> NDArray[uint64]:
    """Spread every bit of 64-bit words over all bits; arithmetic wraps around."""
    from numpy import uint64

    words = words + uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> uint64(27))) * uint64(0x94D049BB133111EB)
    return words ^ (words >> uint64(31))


class TablePolicy:
    """A policy over a small vocabulary, given by logits of shape [V, V]: row = previous token, column = next one."""

    def __init__(self, logits: NDArray[floating]) -> None:
        """Normalise each row by log-softmax. Raises UsageError for another shape or values that are not finite."""
        import numpy as np

        table = np.asarray(logits, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
            raise UsageError(f"logits must be a finite square table [V, V], got shape {list(table.shape)}.")
        shifted = table - table.max(axis=1, keepdims=True)
        self._log_table = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))

    def log_probabilities(self, previous: Sequence[int | None], following: Sequence[int]) -> list[float]:
        """See Policy. The table has no row for the beginning of a text: there every token has probability 1/V.

        Raises UsageError for an id outside the table.
        """
        size = len(self._log_table)
        for token in (*previous, *following):
            if token is not None and not 0 <= token < size:
                raise UsageError(f"token id {token} is outside the table of {size} tokens.")
        return [
            -math.log(size) if before is None else float(self._log_table[before, after])
            for before, after in zip(previous, following, strict=True)
        ]


def score(policy: Policy, ids: Sequence[int], first_previous: int | None = None) -> list[float]:
    """Log-probability of every token of ``ids``: of ids[j] given ids[j - 1], and of ids[0] given ``first_previous``."""
    return policy.log_probabilities([first_previous, *ids[:-1]], ids) if len(ids) else []


def importance_ratios(sampler_logprobs: Sequence[float], trainer_logprobs: Sequence[float]) -> list[float]:
    """exp(trainer - sampler) per token, the ratio of PPO (Schulman et al., 2017); infinity where it overflows.

    Raises UsageError where the lengths differ: tokens that were never sampled have no ratio.
    """
    if len(sampler_logprobs) != len(trainer_logprobs):
        raise UsageError(
            f"{len(sampler_logprobs)} sampled tokens, {len(trainer_logprobs)} scored ones: there is no ratio per token."
        )
    return [_exp(trainer - sampler) for sampler, trainer in zip(sampler_logprobs, trainer_logprobs, strict=True)]


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def outside_clip(ratios: Sequence[float], epsilon: float = 0.2) -> float:
    """Share of ``ratios`` outside [1 - epsilon, 1 + epsilon], where PPO's clipped objective may stop the gradient.

    Raises NoSampledTokensError if there are no ratios.
    """
    if not ratios:
        raise NoSampledTokensError("a share of no ratios does not exist: drop trajectories without sampled tokens.")
    return sum(not 1 - epsilon <= ratio <= 1 + epsilon for ratio in ratios) / len(ratios)
