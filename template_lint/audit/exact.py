"""Sums and histograms that do not depend on how the data is cut: integers all the way.

Floating-point addition is not associative; shards would give other last digits. Values are rounded once, each by
itself, to a fixed grid, and integers are added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy import floating
    from numpy.typing import NDArray

_Key = TypeVar("_Key")

GRID = 1 << 32
"""Values are summed in units of 2**-32."""
LARGEST = 2.0**30
"""Larger values (by magnitude) count as this one."""


def grid_sum(values: NDArray[floating]) -> int:
    """The exact sum, in units of 1 / GRID, of ``values`` rounded to that grid and clipped to LARGEST. No NaN."""
    import numpy as np

    if not len(values):
        return 0
    rounded = np.rint(np.clip(values, -LARGEST, LARGEST) * GRID).astype(np.int64)
    low = rounded & 0xFFFFFFFF
    return (int((rounded >> 32).sum()) << 32) + int(low.sum())


def grid_mean(total: int, count: int) -> float | None:
    """The mean of ``count`` values whose ``grid_sum`` is ``total``; None of none."""
    return None if count == 0 else total / GRID / count


@dataclass(slots=True)
class Histogram:
    """Counts of values in bins of one width, centred on its multiples; the first and last bin hold all beyond.

    Percentiles are exact to half a width. Infinite values go to the outermost bins; NaN must not be added.
    """

    width: float
    reach: int
    counts: dict[int, int] = field(default_factory=dict)

    def add(self, values: NDArray[Any]) -> None:
        """Count every one of ``values``."""
        import numpy as np

        if not len(values):
            return
        limit = self.reach
        bins = np.rint(np.clip(values / self.width, -limit, limit)).astype(np.int64) + limit
        counted = np.bincount(bins, minlength=0)
        for index in np.flatnonzero(counted).tolist():
            self.counts[index - limit] = self.counts.get(index - limit, 0) + int(counted[index])

    def merge(self, other: Histogram) -> None:
        """Add the counts of another histogram of the same shape."""
        add_counts(self.counts, other.counts)

    @property
    def total(self) -> int:
        """How many values were counted."""
        return sum(self.counts.values())

    def percentile(self, share: float) -> float | None:
        """The centre of the bin that holds the value of rank ceil(share * n); None of none."""
        total = self.total
        if not total:
            return None
        rank, seen = max(1, -int(-share * total // 1)), 0
        for index in sorted(self.counts):
            seen += self.counts[index]
            if seen >= rank:
                return index * self.width
        raise AssertionError("a rank beyond the last value")

    def coarse(self, width: float) -> list[tuple[float, int]]:
        """(lower edge, count) of the bins that hold anything, at a coarser ``width``, ascending; for plots."""
        step = max(1, round(width / self.width))
        merged: dict[int, int] = {}
        for index, count in self.counts.items():
            merged[index // step] = merged.get(index // step, 0) + count
        return [(round(index * step * self.width, 9), merged[index]) for index in sorted(merged)]


def add_counts(own: dict[_Key, int], other: Mapping[_Key, int]) -> None:
    """Add counts by key, in place."""
    for key, count in other.items():
        own[key] = own.get(key, 0) + count
