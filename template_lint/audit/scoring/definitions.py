"""The definitions, on logits. V is the number of rows of the output layer, which may exceed the vocabulary.

For logits z of shape [..., V], in fp32 whatever the model computed in:

    z' = z / temperature, then -inf for every token that top_k or top_p drops
    log p(y) = z'_y - logsumexp(z')
    entropy  = -sum_v p(v) log p(v), where 0 log 0 = 0

Natural logarithms everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Sampling(NamedTuple):
    """How tokens were drawn. ``top_k`` 0 and ``top_p`` 1 drop nothing; ``temperature`` 0 takes the most likely token.

    Temperature comes first, then top_k, then top_p on what is left, renormalised: the order of vLLM, SGLang and
    transformers.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0


PLAIN = Sampling()
"""The model's own distribution."""


def warp(logits: Tensor, sampling: Sampling = PLAIN) -> Tensor:
    """z' of the definition: [..., V] in fp32. ``logits`` is left as it was.

    top_k keeps tokens as likely as the k-th, ties included. top_p keeps a token while the mass ranked above it is below
    p, so the most likely token is always kept; equal logits are ranked by id.
    """
    import torch

    scores = logits.float()
    if sampling.temperature == 0:
        best = scores.argmax(dim=-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter_(-1, best, 0.0)
    if sampling.temperature != 1:
        scores = scores / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        least = scores.topk(sampling.top_k, dim=-1).values[..., -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    if sampling.top_p < 1:
        ranked, order = scores.sort(dim=-1, descending=True, stable=True)
        mass = ranked.softmax(dim=-1)
        above = mass.cumsum(dim=-1) - mass
        dropped = (above >= sampling.top_p).scatter(-1, order, above >= sampling.top_p)
        dropped.scatter_(-1, order[..., :1], False)
        scores = scores.masked_fill(dropped, -torch.inf)
    return scores


def distribution(logits: Tensor, sampling: Sampling = PLAIN) -> Tensor:
    """log p of every token: [..., V] in fp32, -inf for tokens that cannot be drawn."""
    return warp(logits, sampling).log_softmax(dim=-1)


def log_probabilities(log_p: Tensor, targets: Tensor) -> Tensor:
    """log p(y): [...], for a distribution [..., V] and token ids [...]."""
    return log_p.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def entropy(log_p: Tensor) -> Tensor:
    """Entropy in nats: [...], for a distribution [..., V]."""
    import torch

    # 0 times a large number is 0, 0 times infinity is not.
    return -log_p.exp().mul_(log_p.clamp(min=torch.finfo(log_p.dtype).min)).sum(dim=-1)
