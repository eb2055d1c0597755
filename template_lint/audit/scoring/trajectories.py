"""Recorded trajectories -> the same, with the trainer's side filled in by a model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from template_lint.audit.model import TopLogprobs, Trajectory
from template_lint.audit.scoring.definitions import PLAIN, Sampling
from template_lint.audit.scoring.scorer import Buffer, Scorer, Scores

if TYPE_CHECKING:
    from numpy import floating, int64
    from numpy.typing import NDArray


def score_trajectories(rows: Sequence[Trajectory], scorer: Scorer, *, apply_sampling: bool = False) -> list[Trajectory]:
    """The rows with ``trainer_logprobs`` and ``trainer_top`` on sampled tokens; what cannot be scored stays as it was.

    With ``apply_sampling`` the row's own temperature, top_k and top_p are applied, as a sampler does; without, the
    model's distribution is taken as it is, as most trainers do.
    """
    fit = [index for index, row in enumerate(rows) if _scorable(row, scorer)]
    buffers = [
        Buffer(
            rows[index].ids.tolist(),
            _sampling(rows[index]) if apply_sampling else PLAIN,
            (rows[index].mask == 1).astype(int).tolist(),
        )
        for index in fit
    ]
    scored = dict(zip(fit, scorer.score(buffers), strict=True)) if buffers else {}
    return [_with_scores(row, scored[index]) if index in scored else row for index, row in enumerate(rows)]


def _scorable(row: Trajectory, scorer: Scorer) -> bool:
    rows = scorer.model.get_input_embeddings().weight.shape[0]
    ids = row.ids
    return len(ids) >= 2 and len(row.mask) == len(ids) and bool(ids.min() >= 0) and bool(ids.max() < rows)


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
