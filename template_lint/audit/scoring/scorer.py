"""Scores token buffers under a causal language model, a stretch of time at once.

The ids are fed in stretches of ``chunk`` tokens over the model's own key-value cache, so that at most
[batch, chunk, V] logits exist at any time, not [batch, T, V].
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.audit.scoring.definitions import PLAIN, Sampling, distribution, entropy, log_probabilities

if TYPE_CHECKING:
    from torch import Tensor


_COLUMNS = 32


class Buffer(NamedTuple):
    """What is scored: ids [T], and how its tokens were drawn. ``wanted`` [T] marks the ids that matter; None is all."""

    ids: Sequence[int]
    sampling: Sampling = PLAIN
    wanted: Sequence[int] | None = None


class Scores(NamedTuple):
    """Tensors on the CPU, in fp32 (ids int64), with one row for each id but the first: row j is about ids[j + 1].

    ``logprobs`` and ``entropy``: [T - 1]; ``top_ids`` and ``top_logprobs``: [T - 1, K], the most likely tokens at the
    same temperature and truncation. Rows of ids that were not wanted hold NaN, and -1 as top ids.
    """

    logprobs: Tensor
    entropy: Tensor
    top_ids: Tensor
    top_logprobs: Tensor


class Scorer:
    """A causal language model with a batch size in tokens, a stretch of time and a number of top tokens.

    ``model`` is a transformers model with a language-model head; it is put into evaluation mode. ``rows``: of its
    embedding. ``positions``: how many it has embeddings for, None where positions are computed.
    """

    def __init__(self, model: Any, *, batch_tokens: int = 8192, chunk: int = 256, top: int = 20) -> None:
        self.model = model.eval()
        self.batch_tokens = batch_tokens
        self.chunk = chunk
        self.top = top
        self.rows: int = model.get_input_embeddings().weight.shape[0]
        config = model.config.get_text_config()
        computed = any(name.startswith("rope") or name == "alibi" for name in vars(config))
        self.positions: int | None = None if computed else getattr(config, "max_position_embeddings", None)
        accepted = inspect.signature(model.forward).parameters
        self._selects = "logits_to_keep" in accepted
        # The same thing under two names: transformers renames it in the course of 5.x.
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"

    def score(self, buffers: Sequence[Buffer], *, progress: Callable[[int], object] | None = None) -> list[Scores]:
        """Score every buffer, in the given order. ``progress`` is called with the number of buffers done.

        Buffers of similar length share a batch of at most ``batch_tokens`` tokens, padding included. Raises ValueError
        for a buffer of fewer than two ids, or with an id that the model has no row for.
        """
        for buffer in buffers:
            if len(buffer.ids) < 2:
                raise ValueError("a buffer of fewer than two ids has nothing to score")
            if min(buffer.ids) < 0 or max(buffer.ids) >= self.rows:
                raise ValueError(f"a buffer holds an id outside the {self.rows} rows of the model's embedding")
        scores: dict[int, Scores] = {}
        for batch in self._batches(buffers):
            scores.update(zip(batch, self._batch([buffers[index] for index in batch]), strict=True))
            if progress is not None:
                progress(len(scores))
        return [scores[index] for index in range(len(buffers))]

    def _batches(self, buffers: Sequence[Buffer]) -> Iterator[list[int]]:
        order = sorted(range(len(buffers)), key=lambda index: len(buffers[index].ids))
        batch: list[int] = []
        for index in order:
            if batch and (len(batch) + 1) * len(buffers[index].ids) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(index)
        if batch:
            yield batch

    def _batch(self, buffers: Sequence[Buffer]) -> list[Scores]:
        import torch

        device = self.model.device
        longest = max(len(buffer.ids) for buffer in buffers)
        ids = torch.zeros(len(buffers), longest, dtype=torch.long)
        real = torch.zeros(len(buffers), longest, dtype=torch.long)
        wanted = torch.zeros(len(buffers), longest, dtype=torch.bool)
        for row, buffer in enumerate(buffers):
            length = len(buffer.ids)
            ids[row, :length] = torch.as_tensor(buffer.ids)
            real[row, :length] = 1
            wanted[row, 1:length] = True if buffer.wanted is None else torch.as_tensor(buffer.wanted)[1:] == 1
        result = _empty(len(buffers), longest - 1, self.top)
        with torch.inference_mode():
            for logits, columns in self._stretches(ids.to(device), real.to(device), wanted):
                for row, buffer in enumerate(buffers):
                    # One buffer and a few columns at a time: the copies in fp32 that the definitions make stay small.
                    for use in wanted[row, columns + 1].nonzero().squeeze(-1).split(_COLUMNS):
                        self._fill(result, row, columns[use], logits[row, use.to(device)], ids, buffer.sampling)
        return [
            Scores(*(tensor[row, : len(buffer.ids) - 1].clone() for tensor in result))
            for row, buffer in enumerate(buffers)
        ]

    def _fill(self, result: Scores, row: int, columns: Tensor, logits: Tensor, ids: Tensor, sampling: Sampling) -> None:
        log_p = distribution(logits, sampling)
        result.logprobs[row, columns] = log_probabilities(log_p, ids[row, columns + 1].to(logits.device)).cpu()
        result.entropy[row, columns] = entropy(log_p).cpu()
        count = min(self.top, log_p.shape[-1])
        if count:
            best = log_p.topk(count, dim=-1)
            result.top_ids[row, columns, :count] = best.indices.cpu()
            result.top_logprobs[row, columns, :count] = best.values.cpu()

    def _stretches(self, ids: Tensor, real: Tensor, wanted: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """(logits [B, C, V], columns [C]): the logits of column j give the distribution of ids[:, j + 1]."""
        import torch
        from transformers import DynamicCache

        last = ids.shape[1] - 1
        several = last > self.chunk
        cache = DynamicCache(config=self.model.config) if several else None
        needed = wanted.any(dim=0)
        for start in range(0, last, self.chunk):
            end = min(start + self.chunk, last)
            columns = torch.arange(start, end)[needed[start + 1 : end + 1]]
            arguments: dict[str, Any] = {}
            if self._selects:
                # Not 0: that means all of them.
                arguments["logits_to_keep"] = columns.to(ids.device) - start if len(columns) else 1
            output = self.model(
                input_ids=ids[:, start:end],
                attention_mask=real[:, :end],
                use_cache=several,
                **{self._cache_name: cache},
                **arguments,
            )
            if len(columns):
                logits = output.logits if self._selects else output.logits[:, columns.to(ids.device) - start]
                yield logits, columns
                del logits
            del output


def _empty(rows: int, columns: int, top: int) -> Scores:
    import torch

    def nothing(*shape: int) -> Tensor:
        return torch.full(shape, torch.nan, dtype=torch.float32)

    top_ids = torch.full((rows, columns, top), -1, dtype=torch.long)
    return Scores(nothing(rows, columns), nothing(rows, columns), top_ids, nothing(rows, columns, top))
