"""Causes by strength, and under the rounding that real engines add: a weak cause may go unnamed, never misnamed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from template_lint.audit.causes import PRECISION, TEMPERATURE, TRUNCATION, UNEXPLAINED, diagnose
from template_lint.audit.model import Origin, TopLogprobs, Trajectory
from template_lint.audit.sample.distributions import TOP, draw

PROMPT, SAMPLED, TRIALS = 5, 200, 25
BF16 = 0.015


def trajectory(seed: int, noise: float, *, lists: bool, **settings: Any) -> Trajectory:
    generator = np.random.default_rng([seed, 7])
    drawn = draw(SAMPLED, generator, **settings)
    rounding = generator.normal(0, 1, SAMPLED) * noise * (0.2 - drawn.trainer)
    top = None
    if lists:
        logprobs = np.full((PROMPT + SAMPLED, TOP), np.nan)
        logprobs[PROMPT:] = drawn.sampled_from[:, :TOP]
        top = TopLogprobs(ids=np.full(logprobs.shape, -1, dtype=np.int64), logprobs=logprobs)
    return Trajectory(
        origin=Origin(0, seed),
        ids=np.arange(PROMPT + SAMPLED, dtype=np.int64),
        mask=np.array([0] * PROMPT + [1] * SAMPLED, dtype=np.uint8),
        logprobs=np.concatenate([np.zeros(PROMPT), drawn.sampler]),
        trainer_logprobs=np.concatenate([np.zeros(PROMPT), np.minimum(drawn.trainer + rounding, 0)]),
        top=top,
    )


def causes(noise: float, *, lists: bool = False, **settings: Any) -> Counter[str]:
    found = [diagnose(trajectory(seed, noise, lists=lists, **settings), None) for seed in range(TRIALS)]
    return Counter(diagnosis.cause if diagnosis else "-" for diagnosis in found)


@pytest.mark.parametrize("noise", [0.0002, BF16])
@pytest.mark.parametrize(
    ("expected", "lists", "settings"),
    [
        (TEMPERATURE, True, {"temperature": 0.7}),
        (TEMPERATURE, True, {"temperature": 0.9}),
        (TEMPERATURE, True, {"temperature": 1.2}),
        (TRUNCATION, False, {"top_p": 0.9}),
        (TRUNCATION, False, {"top_p": 0.5}),
        (TRUNCATION, False, {"top_k": 20}),
        (TRUNCATION, False, {"top_k": 5}),
        (TRUNCATION, True, {"top_p": 0.9}),
    ],
)
def test_a_cause_is_named(expected: str, lists: bool, settings: dict[str, Any], noise: float) -> None:
    found = causes(noise, lists=lists, **settings)
    assert found[expected] >= 0.9 * TRIALS, found
    assert set(found) <= {expected, UNEXPLAINED, PRECISION}


@pytest.mark.parametrize(
    ("expected", "lists", "settings"),
    [
        (TEMPERATURE, True, {"temperature": 0.95}),
        (TEMPERATURE, False, {"temperature": 0.7}),
        (TRUNCATION, False, {"top_p": 0.99}),
        (TRUNCATION, False, {"top_k": 50}),
    ],
)
@pytest.mark.parametrize("noise", [0.005, BF16, 0.03])
def test_a_weak_cause_is_not_misnamed(expected: str, lists: bool, settings: dict[str, Any], noise: float) -> None:
    assert set(causes(noise, lists=lists, **settings)) <= {expected, UNEXPLAINED, PRECISION}


@pytest.mark.parametrize("noise", [0.005, BF16, 0.03])
def test_rounding_is_called_rounding(noise: float) -> None:
    assert causes(noise) == {PRECISION: TRIALS}


def test_agreement_has_no_cause() -> None:
    assert causes(0.0002) == {"-": TRIALS}
    assert causes(0.0002, lists=True) == {"-": TRIALS}
