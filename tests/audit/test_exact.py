"""Sums and histograms: exact, and the same however the values are cut."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.audit.exact import GRID, LARGEST, Histogram, grid_sum

VALUES = st.lists(st.floats(-1e6, 1e6, allow_nan=False), max_size=60)


@given(VALUES, st.integers(0, 60))
def test_a_sum_is_that_of_its_parts(values: list[float], cut: int) -> None:
    array = np.array(values, dtype=np.float64)
    assert grid_sum(array) == grid_sum(array[:cut]) + grid_sum(array[cut:])


@given(VALUES)
def test_a_sum_is_right_to_the_grid(values: list[float]) -> None:
    exact = sum((Fraction(value) for value in values), Fraction(0))
    assert abs(Fraction(grid_sum(np.array(values, dtype=np.float64)), GRID) - exact) <= Fraction(len(values), GRID)


def test_huge_values_count_as_the_largest() -> None:
    assert grid_sum(np.array([1e300, np.inf])) == 2 * int(LARGEST) * GRID


def test_many_large_values_do_not_overflow() -> None:
    assert grid_sum(np.full(1_000_000, LARGEST)) == 1_000_000 * int(LARGEST) * GRID


@given(st.lists(st.floats(-50, 50, allow_nan=False), min_size=1, max_size=200), st.integers(0, 200))
def test_percentiles_are_exact_to_the_bin(values: list[float], cut: int) -> None:
    array = np.array(values)
    whole, first, second = (Histogram(0.01, 10_000) for _ in range(3))
    whole.add(array)
    first.add(array[:cut])
    second.add(array[cut:])
    first.merge(second)
    assert first.counts == whole.counts
    for share in (0.01, 0.5, 0.99, 1.0):
        rank = max(1, int(np.ceil(share * len(values))))
        assert whole.percentile(share) == pytest.approx(sorted(values)[rank - 1], abs=0.0051)


def test_infinities_go_to_the_outermost_bins() -> None:
    histogram = Histogram(0.5, 10)
    histogram.add(np.array([-np.inf, np.inf, 99.0]))
    assert histogram.counts == {-10: 1, 10: 2}


def test_coarse_bins_keep_every_value() -> None:
    histogram = Histogram(0.001, 1000)
    histogram.add(np.array([-0.0304, -0.001, 0.0, 0.0196, 0.021]))
    assert histogram.coarse(0.02) == [(-0.04, 1), (-0.02, 1), (0.0, 1), (0.02, 2)]
