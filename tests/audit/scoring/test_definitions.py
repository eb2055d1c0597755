"""The definitions on logits: against other ways to compute them, and against drawing."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="scoring needs torch: pip install 'template-lint[score]'")

from template_lint.audit.scoring.definitions import Sampling, distribution, entropy, log_probabilities, warp  # noqa: E402

LOGITS = torch.tensor([[2.0, 1.0, 0.0, -1.0, -4.0]])
GENERATOR = torch.Generator().manual_seed(7)


def kept(logits: torch.Tensor, sampling: Sampling) -> list[int]:
    return torch.isfinite(warp(logits, sampling))[0].nonzero().squeeze(-1).tolist()


def test_log_probability_is_negative_cross_entropy() -> None:
    logits = torch.randn(7, 50, generator=GENERATOR) * 5
    targets = torch.randint(0, 50, (7,), generator=GENERATOR)
    expected = -torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(log_probabilities(distribution(logits), targets), expected)


def test_a_constant_added_to_the_logits_changes_nothing() -> None:
    logits = torch.randn(7, 50, generator=GENERATOR)
    targets = torch.arange(7)
    for sampling in (Sampling(), Sampling(0.7, 5), Sampling(1.3, 0, 0.8)):
        plain = log_probabilities(distribution(logits, sampling), targets)
        moved = log_probabilities(distribution(logits + 12.5, sampling), targets)
        torch.testing.assert_close(plain, moved, atol=1e-5, rtol=1e-5)


def test_probabilities_sum_to_one() -> None:
    for sampling in (Sampling(), Sampling(0.5), Sampling(1, 3), Sampling(1, 0, 0.6), Sampling(2, 4, 0.9)):
        log_p = distribution(LOGITS, sampling)
        every = log_probabilities(log_p.expand(5, 5), torch.arange(5))
        assert every.exp().sum().item() == pytest.approx(1)


def test_temperature_divides_logits() -> None:
    assert log_probabilities(distribution(LOGITS, Sampling(0.5)), torch.tensor([1])).item() == pytest.approx(
        torch.log_softmax(LOGITS / 0.5, -1)[0, 1].item()
    )


def test_temperature_zero_takes_the_best() -> None:
    log_p = distribution(LOGITS, Sampling(0))
    assert log_probabilities(log_p, torch.tensor([0])).item() == 0
    assert log_probabilities(log_p, torch.tensor([1])).item() == -math.inf
    assert entropy(log_p).item() == 0


def test_top_k_keeps_k_and_ties() -> None:
    assert kept(LOGITS, Sampling(top_k=2)) == [0, 1]
    assert kept(LOGITS, Sampling(top_k=0)) == [0, 1, 2, 3, 4]
    assert kept(LOGITS, Sampling(top_k=99)) == [0, 1, 2, 3, 4]
    assert kept(torch.tensor([[1.0, 2.0, 2.0, 2.0]]), Sampling(top_k=2)) == [1, 2, 3]


def test_top_p_keeps_a_token_while_the_mass_above_it_is_below_p() -> None:
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    assert kept(logits, Sampling(top_p=0.49)) == [0]
    assert kept(logits, Sampling(top_p=0.51)) == [0, 1]
    assert kept(logits, Sampling(top_p=0.79)) == [0, 1]
    assert kept(logits, Sampling(top_p=0.96)) == [0, 1, 2, 3]
    assert kept(logits, Sampling(top_p=0.0)) == [0], "the best is always kept"
    assert kept(logits.flip(-1), Sampling(top_p=0.51)) == [2, 3], "whatever its id"


def test_top_p_works_on_what_temperature_and_top_k_left() -> None:
    logits = torch.tensor([[0.4, 0.3, 0.2, 0.1]]).log()
    assert kept(logits, Sampling(top_k=2, top_p=0.6)) == [0, 1]
    assert kept(logits, Sampling(top_k=2, top_p=0.55)) == [0], "0.4 of 0.7 is above 0.55"
    assert kept(logits, Sampling(temperature=0.25, top_p=0.7)) == [0]


def test_top_p_agrees_with_transformers() -> None:
    from transformers import TopPLogitsWarper

    logits = torch.randn(40, 30, generator=GENERATOR) * 3
    for p in (0.1, 0.5, 0.9, 0.99):
        theirs = torch.isfinite(TopPLogitsWarper(p)(None, logits.clone()))
        assert torch.equal(torch.isfinite(warp(logits, Sampling(top_p=p))), theirs)


def test_dropped_tokens_cannot_be_drawn_and_cost_no_entropy() -> None:
    log_p = distribution(LOGITS, Sampling(top_k=1))
    assert log_probabilities(log_p, torch.tensor([2])).item() == -math.inf
    assert entropy(log_p).item() == 0
    assert entropy(distribution(torch.zeros(1, 8))).item() == pytest.approx(math.log(8))


def test_half_precision_is_normalised_in_fp32() -> None:
    logits = (torch.randn(3, 5000, generator=GENERATOR) * 4).bfloat16()
    result = log_probabilities(distribution(logits), torch.tensor([1, 2, 3]))
    assert result.dtype is torch.float32
    torch.testing.assert_close(
        result, torch.log_softmax(logits.float(), -1)[torch.arange(3), torch.tensor([1, 2, 3])], atol=1e-5, rtol=1e-5
    )


def test_drawn_frequencies_are_the_probabilities() -> None:
    sampling = Sampling(temperature=0.8, top_k=4, top_p=0.95)
    log_p = distribution(LOGITS, sampling)
    probabilities = log_probabilities(log_p.expand(5, 5), torch.arange(5)).exp()
    draws = 200_000
    drawn = torch.multinomial(torch.softmax(log_p[0], -1), draws, replacement=True, generator=GENERATOR)
    frequency = torch.bincount(drawn, minlength=5) / draws
    error = (probabilities * (1 - probabilities) / draws).sqrt()
    assert ((frequency - probabilities).abs() <= 5 * error + 1e-9).all()


def test_the_logits_are_left_as_they_were() -> None:
    before = LOGITS.clone()
    for sampling in (Sampling(), Sampling(0), Sampling(0.5, 2, 0.5)):
        warp(LOGITS, sampling)
        assert torch.equal(before, LOGITS)
