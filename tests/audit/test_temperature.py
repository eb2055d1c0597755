"""The fitted temperature."""

from __future__ import annotations

import numpy as np
import pytest

from template_lint.audit.sample.distributions import TOP, draw
from template_lint.audit.temperature import fit_temperature


@pytest.mark.parametrize("temperature", [0.6, 0.7, 0.9, 1.1, 1.5])
def test_it_is_found_from_the_samplers_most_likely_tokens(temperature: float) -> None:
    drawn = draw(300, np.random.default_rng(7), temperature=temperature)
    fit = fit_temperature(drawn.sampled_from[:, :TOP], drawn.sampler, drawn.trainer)
    assert fit is not None
    assert fit.exponent == pytest.approx(temperature, rel=0.03)
    assert fit.residual < 0.25 * fit.before


def test_with_whole_distributions_nothing_is_left() -> None:
    drawn = draw(200, np.random.default_rng(8), temperature=0.7)
    fit = fit_temperature(drawn.sampled_from, drawn.sampler, drawn.trainer)
    assert fit is not None
    assert (fit.exponent, fit.residual) == (pytest.approx(0.7, abs=1e-4), pytest.approx(0, abs=1e-3))


def test_equal_sides_have_temperature_one() -> None:
    drawn = draw(100, np.random.default_rng(9))
    fit = fit_temperature(drawn.sampled_from, drawn.sampler, drawn.trainer)
    assert fit is not None and fit.exponent == pytest.approx(1, abs=1e-3)


def test_lists_that_hold_little_of_the_mass_prove_nothing() -> None:
    drawn = draw(100, np.random.default_rng(10), temperature=0.7)
    assert fit_temperature(drawn.sampled_from[:, :1] - 1.0, drawn.sampler, drawn.trainer) is None
    assert fit_temperature(np.full((100, 5), np.nan), drawn.sampler, drawn.trainer) is None


def test_top_p_keeps_a_token_while_the_mass_above_it_is_below_p() -> None:
    drawn = draw(500, np.random.default_rng(11), top_p=0.9)
    plain = np.exp(drawn.logits - np.log(np.exp(drawn.logits).sum(axis=1, keepdims=True)))
    above = np.cumsum(plain, axis=1) - plain
    assert (np.isfinite(drawn.sampled_from) == (above < 0.9)).all()
    assert (drawn.trainer <= drawn.sampler + 1e-12).all()
