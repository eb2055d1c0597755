"""The running buffer of one trajectory: token ids, mask, log-probabilities and turns, which only ever grow together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import index
from typing import NamedTuple

from template_lint.errors import TemplateLintError, UsageError


class BufferInvariantError(TemplateLintError):
    """Ids, mask, log-probabilities and turns of a buffer no longer describe the same tokens."""

    kind = "buffer-invariant"


class NoSampledTokensError(TemplateLintError):
    """A mean over sampled tokens was asked of a trajectory that has none."""

    kind = "no-sampled-tokens"


class Turn(NamedTuple):
    """The tokens [start, end) of a buffer that one ``extend`` added. ``kind`` is free text."""

    start: int
    end: int
    kind: str


class Buffer:
    """Token ids of a trajectory with, for each, whether the model sampled it and with which log-probability.

    ``ids``, ``mask`` and ``logprobs`` have one entry per token: the id; 1 if sampled, else 0; the natural logarithm of
    the probability it was sampled with, 0.0 if it was not sampled or the sampler gave none. ``turns`` partition them.
    Read the lists freely, but grow them by ``extend`` alone: it checks them before and after, whatever the flags of
    the interpreter.
    """

    def __init__(self) -> None:
        """Start an empty trajectory."""
        self.ids: list[int] = []
        self.mask: list[int] = []
        self.logprobs: list[float] = []
        self.turns: list[Turn] = []
        self._with_logprobs: bool | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Buffer({len(self.ids)} tokens, {sum(self.mask)} sampled, {len(self.turns)} turns)"

    def extend(
        self,
        ids: Iterable[int],
        *,
        sampled: bool,
        logprobs: Sequence[float] | None = None,
        kind: str | None = None,
    ) -> Turn:
        """Append one turn and return it.

        ``logprobs``: one finite value <= 0 for each of ``ids``, for sampled tokens only. Either every sampled turn of
        a buffer has them or none: a missing value would read as probability 1. ``kind`` defaults to ``completion``
        for sampled tokens, else to ``prompt`` for the first turn and ``delta`` for later ones.

        Raises UsageError for values that cannot be right, BufferInvariantError for a length that does not fit and for
        lists changed from outside. The buffer is then as it was before.
        """
        self._check()
        new_ids = [index(token_id) for token_id in ids]
        if any(token_id < 0 for token_id in new_ids):
            raise UsageError(f"token ids cannot be negative, got {min(new_ids)}: append the ids as they were sampled.")
        new_logprobs = self._checked_logprobs(len(new_ids), sampled, logprobs)
        start = len(self.ids)
        if kind is None:
            kind = "completion" if sampled else "delta" if self.turns else "prompt"
        turn = Turn(start, start + len(new_ids), kind)
        if sampled and new_ids:
            self._with_logprobs = logprobs is not None
        self.ids += new_ids
        self.mask += [int(sampled)] * len(new_ids)
        self.logprobs += new_logprobs
        self.turns.append(turn)
        self._check()
        return turn

    @property
    def prompt_length(self) -> int:
        """How many tokens stand before the first sampled one: all, if none is sampled."""
        return self.mask.index(1) if 1 in self.mask else len(self.mask)

    def masked_mean(self, values: Sequence[float]) -> float:
        """Mean of ``values`` (one per token of the buffer) over the sampled tokens.

        Raises NoSampledTokensError if there are none, BufferInvariantError if ``values`` has another length.
        """
        self._check()
        if len(values) != len(self.mask):
            raise BufferInvariantError(f"the buffer has {len(self.mask)} tokens, but {len(values)} values were given.")
        sampled = [float(value) for value, is_sampled in zip(values, self.mask, strict=True) if is_sampled]
        if not sampled:
            raise NoSampledTokensError(
                f"none of the {len(self.mask)} tokens was sampled, so a mean over sampled tokens does not exist. "
                "Drop the trajectory before the loss."
            )
        return math.fsum(sampled) / len(sampled)

    def copy(self) -> Buffer:
        """Return an independent buffer with the same content."""
        self._check()
        twin = Buffer()
        twin.ids, twin.mask, twin.logprobs = self.ids.copy(), self.mask.copy(), self.logprobs.copy()
        twin.turns, twin._with_logprobs = self.turns.copy(), self._with_logprobs
        return twin

    def _checked_logprobs(self, length: int, sampled: bool, logprobs: Sequence[float] | None) -> list[float]:
        if not sampled and logprobs is not None:
            raise UsageError("log-probabilities were given for tokens that the model did not sample: leave them out.")
        if sampled and length and self._with_logprobs not in (None, logprobs is not None):
            raise UsageError(
                "some sampled turns of this buffer have log-probabilities, some have none: give them for all or none."
            )
        if logprobs is None:
            return [0.0] * length
        values = [float(value) for value in logprobs]
        if len(values) != length:
            raise BufferInvariantError(f"{length} token ids came with {len(values)} log-probabilities: give one each.")
        for position, value in enumerate(values):
            if not math.isfinite(value) or value > 0:
                raise UsageError(
                    f"log-probability {value} of sampled token {position} of this turn is no finite number <= 0. "
                    "Pass natural logarithms as the sampler returned them."
                )
        return values

    def _check(self) -> None:
        lengths = len(self.ids), len(self.mask), len(self.logprobs), self.turns[-1].end if self.turns else 0
        if len(set(lengths)) != 1:
            raise BufferInvariantError(
                "the buffer was changed from outside: {} ids, {} mask values, {} log-probabilities, turns up to {}. "
                "Grow it by extend() alone.".format(*lengths)
            )
