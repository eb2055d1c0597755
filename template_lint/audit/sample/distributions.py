"""A stand-in for a model: at each position a distribution over 64 tokens, from which one is drawn as samplers do.

Logits fall with the logarithm of the rank; how steeply varies from position to position, as certainty does in text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import floating, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

_TOKENS = 64
TOP = 20


class Drawn(NamedTuple):
    """Per position: log p of the drawn token for the sampler (``sampler``) and at temperature 1 (``trainer``).

    ``logits``: [N, 64], largest first; ``rank`` of the drawn token among them; ``sampled_from``: log-probabilities of
    the sampler, -inf where it cut tokens off.
    """

    sampler: NDArray[floating]
    trainer: NDArray[floating]
    logits: NDArray[floating]
    rank: NDArray[int64]
    sampled_from: NDArray[floating]


def draw(count: int, generator: Generator, *, temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0) -> Drawn:
    """Draw ``count`` tokens. Temperature 0 takes the most likely one and reports log-probability 0, as engines do.

    Top-p keeps a token while the mass ranked above it is below p.
    """
    import numpy as np

    steep = np.where(generator.random(count) < 0.35, generator.uniform(0.5, 1.5, count), generator.uniform(2, 6, count))
    logits = -steep[:, None] * np.log(np.arange(1, _TOKENS + 1))[None, :]
    plain = _normalised(logits)
    if temperature == 0:
        rank = np.zeros(count, dtype=np.int64)
        certain = np.full_like(logits, -np.inf)
        certain[:, 0] = 0.0
        return Drawn(np.zeros(count), plain[:, 0], logits, rank, certain)
    kept = _normalised(logits / temperature)
    if top_k:
        kept[:, top_k:] = -np.inf
    if top_p < 1:
        mass = np.exp(kept)
        kept[np.cumsum(mass, axis=1) - mass >= top_p] = -np.inf
    kept = _normalised(kept)
    rank = (np.cumsum(np.exp(kept), axis=1) < generator.random(count)[:, None]).sum(axis=1)
    rank = np.minimum(rank, np.isfinite(kept).sum(axis=1) - 1)
    each = np.arange(count)
    return Drawn(kept[each, rank], plain[each, rank], logits, rank, kept)


def _normalised(logits: NDArray[floating]) -> NDArray[floating]:
    import numpy as np

    shifted = logits - logits.max(axis=1, keepdims=True)
    values: NDArray[floating] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return values


def top_lists(
    drawn: Drawn, ids: list[int], generator: Generator, vocabulary: int
) -> list[list[tuple[int, float | str]]]:
    """[[id, log-probability], ...] per drawn token, the most likely first; other ids than the drawn are made up."""
    import numpy as np

    others = generator.integers(0, vocabulary, (len(ids), TOP))
    lists: list[list[tuple[int, float | str]]] = []
    for row, token_id in enumerate(ids):
        values = drawn.sampled_from[row, :TOP]
        names = others[row].tolist()
        if drawn.rank[row] < TOP:
            names[int(drawn.rank[row])] = token_id
        shown = [round(float(value), 6) if np.isfinite(value) else "-inf" for value in values]
        lists.append(list(zip(names, shown, strict=True)))
    return lists
