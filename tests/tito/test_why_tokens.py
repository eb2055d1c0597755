"""The figures of issue 3 about why ids and text are not the same, from our own buffer, drift and ratios."""

from __future__ import annotations

import numpy as np
import pytest

from template_lint.tito import Buffer
from template_lint.tito.drift import measure
from template_lint.tito.policy import TablePolicy, importance_ratios, outside_clip, score
from tests.tito.toys import plain

MERGES = [('"', "a"), ('"a', '"'), ('"a"', ":"), (":", "_"), ("a", "a"), ("aa", "aa")]
PIECES = ['"', '"a', '"a"', '"a":', "1", ":", ":_", "_", "a", "aa", "aaaa"]
QUOTE, AA, AAAA = 0, 9, 10
JSON = plain(PIECES, MERGES)


def test_the_vocabulary_is_sorted() -> None:
    assert sorted({*'"a:_1', *(left + right for left, right in MERGES)}) == PIECES


def test_other_ids_of_the_same_text_and_length() -> None:
    drift = measure(JSON, [2, 6, 4], [1, 1, 1])
    assert JSON.decode([2, 6, 4]) == JSON.decode([3, 7, 4]) == '"a":_1'
    assert drift.reencoded == [3, 7, 4]
    assert (drift.drifted, drift.same_length, drift.first) == (2, True, 0)
    assert (drift.verdict, drift.mismatch) == ("REALIGN", "assistant")


def test_ratios_of_the_same_policy() -> None:
    policy = TablePolicy(np.random.default_rng(0).normal(size=(len(PIECES), len(PIECES))))
    sampler = score(policy, [2, 6, 4], first_previous=QUOTE)
    assert importance_ratios(sampler, score(policy, [2, 6, 4], first_previous=QUOTE)) == [1.0, 1.0, 1.0]
    ratios = importance_ratios(sampler, score(policy, [3, 7, 4], first_previous=QUOTE))
    assert [round(ratio, 6) for ratio in ratios] == [0.585363, 0.198213, 0.563496]
    assert outside_clip(ratios) == 1.0


def test_two_tokens_become_one() -> None:
    drift = measure(JSON, [AA, AA], [1, 1])
    assert drift.reencoded == [AAAA]
    assert (drift.drifted, drift.same_length) == (2, False)


def test_a_token_that_no_mask_value_fits() -> None:
    tokenization = plain(["T", "a", "aa", "b", "x"], [("a", "a")])
    buffer = Buffer()
    buffer.extend([3], sampled=True, logprobs=[-0.2])
    buffer.extend([0, 1], sampled=False)
    buffer.extend([1, 4], sampled=True, logprobs=[-0.3, -0.4])
    assert (buffer.ids, buffer.mask) == ([3, 0, 1, 1, 4], [1, 0, 0, 1, 1])
    drift = measure(tokenization, buffer.ids, buffer.mask)
    assert drift.reencoded == [3, 0, 2, 4]
    assert drift.straddling == [(2, 2, "aa")]
    assert drift.verdict == "FORK"
    assert buffer.masked_mean([-0.2, -9.0, -8.0, -0.3, -0.4]) == pytest.approx(-0.3, abs=1e-15)
