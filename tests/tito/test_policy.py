"""Toy policies, importance ratios and the share that a PPO clip would touch."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from template_lint.errors import UsageError
from template_lint.tito.buffer import NoSampledTokensError
from template_lint.tito.policy import HashPolicy, TablePolicy, importance_ratios, outside_clip, score

# Written down once: another process or platform must give the same.
FIRST_SCORES = [-10.716569167715843, -16.55116740171262, -14.049738070089415, -15.634738516815862]


def test_a_table_is_normalised_by_row() -> None:
    policy = TablePolicy(np.log(np.array([[1.0, 3.0], [1.0, 1.0]])))
    assert score(policy, [1, 1, 0], first_previous=0) == pytest.approx([math.log(x) for x in (0.75, 0.5, 0.5)])
    assert TablePolicy(np.full((2, 2), 1000.0)).log_probabilities([0], [1]) == pytest.approx([math.log(0.5)])


def test_the_beginning_of_a_text_in_a_table() -> None:
    assert score(TablePolicy(np.zeros((4, 4))), [2]) == pytest.approx([-math.log(4)])
    assert score(TablePolicy(np.zeros((4, 4))), []) == []


@pytest.mark.parametrize("logits", [np.zeros(3), np.zeros((2, 3)), np.array([[0.0, np.nan], [0.0, 0.0]])])
def test_a_table_that_is_none(logits: np.ndarray) -> None:
    with pytest.raises(UsageError, match="square table"):
        TablePolicy(logits)


@pytest.mark.parametrize("token", [-1, 2])
def test_ids_outside_the_table(token: int) -> None:
    with pytest.raises(UsageError, match=f"token id {token} is outside the table of 2 tokens"):
        score(TablePolicy(np.zeros((2, 2))), [0, token])


def test_each_token_is_scored_after_the_one_before_it() -> None:
    policy = HashPolicy(0, 1000)
    scores = score(policy, [5, 6, 7], first_previous=4)
    assert scores == policy.log_probabilities([4, 5, 6], [5, 6, 7])
    assert score(policy, [6, 7], first_previous=5) == scores[1:]
    assert score(policy, [5])[0] == policy.log_probabilities([None], [5])[0]
    assert score(policy, []) == []


@pytest.mark.parametrize("size", [2, 3, 5, 16, 17, 40])
def test_hash_log_probabilities_are_below_zero(size: int) -> None:
    previous, following = zip(*product(range(size), repeat=2), strict=True)
    for seed in range(20):
        values = HashPolicy(seed, size).log_probabilities(previous, following)
        assert max(values) < 0
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("size", [10_000, 150_000])
def test_hash_probabilities_of_a_row_nearly_add_up_to_one(size: int) -> None:
    """Their sum is off by a few times sqrt(3 / size)."""
    policy = HashPolicy(1, size)
    for previous in (None, 0, 7, size - 1):
        total = sum(map(math.exp, policy.log_probabilities([previous] * size, range(size))))
        assert total == pytest.approx(1, abs=4 * math.sqrt(3 / size))


def test_hash_log_probabilities_span_eight_nats() -> None:
    values = HashPolicy(2, 150_000).log_probabilities([9] * 20_000, range(20_000))
    constant = math.log(150_000 * math.sinh(4) / 4)
    assert -4 - constant <= min(values) < -3.99 - constant
    assert 3.99 - constant < max(values) < 4 - constant


def test_the_pair_and_the_seed_decide() -> None:
    base = score(HashPolicy(0, 1000), [3, 4])
    assert score(HashPolicy(1, 1000), [3, 4]) != base
    assert score(HashPolicy(0, 1000), [4, 3]) != base
    assert score(HashPolicy(2**64, 1000), [3, 4]) == base, "seeds are taken modulo 2**64"


def test_another_process_gives_the_same() -> None:
    program = "from template_lint.tito.policy import *; print(score(HashPolicy(42, 151669), [198, 198, 271, 10**6]))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, timeout=60)
    assert done.stdout == f"{FIRST_SCORES}\n", done.stderr


def test_one_token_is_no_choice() -> None:
    with pytest.raises(UsageError, match="2 or more"):
        HashPolicy(0, 1)


def test_importance_ratios() -> None:
    assert importance_ratios([-1.0, -2.0], [-1.0, -2.0 + math.log(3)]) == pytest.approx([1.0, 3.0])
    assert importance_ratios([-1000.0], [0.0]) == [math.inf]
    assert importance_ratios([], []) == []
    with pytest.raises(UsageError, match="2 sampled tokens, 1 scored ones"):
        importance_ratios([0.0, 0.0], [0.0])


def test_outside_clip() -> None:
    assert outside_clip([1.0, 0.8, 1.2, 0.79, 1.21]) == 0.4
    assert outside_clip([0.5, 1.0], epsilon=0.5) == 0.0
    assert outside_clip([math.inf, math.nan]) == 1.0
    with pytest.raises(NoSampledTokensError):
        outside_clip([])
