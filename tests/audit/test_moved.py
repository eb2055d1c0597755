"""Lists that agree up to one token only, and behind it when one is moved."""

from __future__ import annotations

import numpy as np
import pytest

from template_lint.audit.causes import DRIFT, SHIFT, diagnose
from template_lint.audit.model import Origin, Trajectory
from template_lint.audit.moved import moved_from

PROMPT, SAMPLED = 5, 120


def lists(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    trainer = np.concatenate([np.zeros(PROMPT), -generator.exponential(0.7, SAMPLED)])
    noise = generator.normal(0, 0.002, PROMPT + SAMPLED)
    sampler = np.minimum(trainer + noise, 0)
    sampler[:PROMPT] = 0
    return sampler, trainer


def row(sampler: np.ndarray, trainer: np.ndarray) -> Trajectory:
    mask = np.array([0] * PROMPT + [1] * SAMPLED, dtype=np.uint8)
    ids = np.arange(PROMPT + SAMPLED, dtype=np.int64)
    return Trajectory(origin=Origin(0, 1), ids=ids, mask=mask, logprobs=sampler, trainer_logprobs=trainer)


@pytest.mark.parametrize("step", [1, 2, 4, -1, -3])
@pytest.mark.parametrize("cut", [20, 60, 110])
def test_the_cut_and_the_step_are_found(step: int, cut: int) -> None:
    sampler, trainer = lists()
    moved = np.concatenate([sampler[:cut], np.roll(sampler, step)[cut:]])
    if step > 0:
        moved[cut : cut + step] = -0.4
    found = moved_from(moved, trainer, np.arange(PROMPT + SAMPLED) >= PROMPT)
    assert found is not None
    assert (found.step, abs(found.first - cut) <= abs(step) + 1) == (step, True)
    diagnosis = diagnose(row(moved, trainer), None)
    assert diagnosis is not None
    assert (diagnosis.cause, diagnosis.note) == (DRIFT, "moved")


def test_a_list_that_is_shifted_from_its_beginning_is_a_shift() -> None:
    sampler, trainer = lists()
    moved = np.roll(sampler, 1)
    moved[PROMPT] = -0.4
    diagnosis = diagnose(row(moved, trainer), None)
    assert diagnosis is not None
    assert diagnosis.cause == SHIFT


def test_lists_that_disagree_everywhere_have_no_cut() -> None:
    sampler, trainer = lists()
    other, _ = lists(seed=1)
    assert moved_from(other, trainer, np.arange(PROMPT + SAMPLED) >= PROMPT) is None
    assert moved_from(sampler, trainer, np.zeros(PROMPT + SAMPLED, dtype=bool)) is None
