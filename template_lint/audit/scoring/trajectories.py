"""Recorded trajectories -> the same, with the trainer's side filled in by a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from template_lint.audit.model import TopLogprobs, Trajectory
from template_lint.audit.scoring.definitions import PLAIN, Sampling
from template_lint.audit.scoring.scorer import Buffer, Scorer, Scores
from template_lint.errors import CannotCheckError

if TYPE_CHECKING:
    from numpy import floating, int64
    from numpy.typing import NDArray


def score_trajectories(
    rows: Sequence[Trajectory], scorer: Scorer, name: str, *, apply_sampling: bool = False
) -> list[Trajectory]:
    """The rows with ``trainer_logprobs`` and ``trainer_top`` on sampled tokens, whatever a trainer recorded there.

    A row that the model called ``name`` cannot score has neither, and ``assumed`` says why. With ``apply_sampling`` the
    row's own temperature, top_k and top_p are applied, as a sampler does; without, the model's distribution is taken as
    it is, as most trainers do. Raises CannotCheckError where memory runs out.
    """
    obstacles = [_obstacle(row, scorer, name) for row in rows]
    fit = [index for index, obstacle in enumerate(obstacles) if obstacle is None]
    buffers = [
        Buffer(
            rows[index].ids.tolist(),
            _sampling(rows[index]) if apply_sampling else PLAIN,
            (rows[index].mask == 1).astype(int).tolist(),
        )
        for index in fit
    ]
    scored = dict(zip(fit, _scores(scorer, buffers), strict=True))
    made = []
    for index, (row, obstacle) in enumerate(zip(rows, obstacles, strict=True)):
        if obstacle is not None:
            made.append(dataclasses.replace(row, trainer_logprobs=None, trainer_top=None, assumed=_and(row, obstacle)))
            continue
        unknown = apply_sampling and row.temperature is None and row.top_k is None and row.top_p is None
        note = "no temperature, top_k or top_p is recorded: scored at temperature 1" if unknown else ""
        made.append(_with_scores(dataclasses.replace(row, assumed=_and(row, note)), scored[index]))
    return made


def _scores(scorer: Scorer, buffers: Sequence[Buffer]) -> list[Scores]:
    import torch

    try:
        return scorer.score(buffers)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error):
            longest = max(len(buffer.ids) for buffer in buffers)
            raise CannotCheckError(
                f"--score: memory runs out for batches of {scorer.batch_tokens} tokens, the longest buffer here has "
                f"{longest}. Lower --score-batch-tokens or --score-chunk, or use --score-dtype bfloat16.",
                kind="no-memory",
            ) from None
        raise


def _and(row: Trajectory, note: str) -> str:
    return "; ".join(part for part in (row.assumed, note) if part)


def _obstacle(row: Trajectory, scorer: Scorer, name: str) -> str | None:
    """Why a row cannot be scored; None where it can."""
    ids = row.ids
    if len(ids) < 2 or len(row.mask) != len(ids):
        return "not scored: the buffer is not whole"
    if ids.min() < 0 or ids.max() >= scorer.rows:
        return f"not scored: ids outside the {scorer.rows} rows of the embedding of {name}"
    if scorer.positions is not None and len(ids) > scorer.positions:
        return f"not scored: buffers longer than the {scorer.positions} positions of {name}"
    return None


def _sampling(row: Trajectory) -> Sampling:
    return Sampling(
        1.0 if row.temperature is None else row.temperature,
        max(row.top_k or 0, 0),
        1.0 if row.top_p is None else row.top_p,
    )


def _with_scores(row: Trajectory, scores: Scores) -> Trajectory:
    import numpy as np

    def shifted(values: NDArray[floating], first: float) -> NDArray[floating]:
        """Column j of the scores is about ids[j + 1]; entry j of a trajectory is about ids[j]."""
        head = np.full((1, *values.shape[1:]), first, dtype=np.float64)
        return np.concatenate([head, values.astype(np.float64)])

    logprobs = shifted(scores.logprobs.numpy(), 0.0)
    logprobs[row.mask != 1] = 0.0
    tops: NDArray[int64] = np.concatenate(
        [np.full((1, scores.top_ids.shape[1]), -1, dtype=np.int64), scores.top_ids.numpy()]
    )
    top = TopLogprobs(ids=tops, logprobs=shifted(scores.top_logprobs.numpy(), float("nan")))
    return dataclasses.replace(row, trainer_logprobs=logprobs, trainer_top=top)
