"""Many trajectories as flat arrays, so that a check is a few numpy operations whatever the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from template_lint.audit.model import Trajectory

if TYPE_CHECKING:
    from numpy import bool_, floating, int64, uint8
    from numpy.typing import NDArray


class Batch:
    """Trajectories whose lists are equally long and not empty, one after another.

    ``starts[r]`` and ``ends[r]`` bound row r in the flat arrays ``ids``, ``mask`` (1 where the recorded mask is 1),
    ``row`` (index of the row each token belongs to). ``sampled`` are the flat indices of tokens with mask 1.
    """

    def __init__(self, rows: Sequence[Trajectory]) -> None:
        """Join ``rows``; there must be at least one."""
        import numpy as np

        self.rows = rows
        lengths = np.array([len(row.ids) for row in rows], dtype=np.int64)
        self.ends: NDArray[int64] = np.cumsum(lengths)
        self.starts: NDArray[int64] = self.ends - lengths
        self.ids: NDArray[int64] = np.concatenate([row.ids for row in rows])
        self.mask: NDArray[uint8] = np.concatenate(
            [row.mask if row.mask.dtype == np.uint8 else (row.mask == 1).astype(np.uint8) for row in rows]
        )
        self.sampled: NDArray[int64] = np.flatnonzero(self.mask == 1)
        self.sampled_row: NDArray[int64] = np.searchsorted(self.ends, self.sampled, side="right")
        self.sampled_counts: NDArray[int64] = np.bincount(self.sampled_row, minlength=len(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def rows_of(self, flat: NDArray[int64]) -> NDArray[int64]:
        """The row of each flat index."""
        import numpy as np

        return np.searchsorted(self.ends, flat, side="right")

    def first_per_row(self, flat: NDArray[int64]) -> dict[int, tuple[int, int]]:
        """Row -> (position in it of the first of these ascending flat indices, how many there are)."""
        import numpy as np

        if not len(flat):
            return {}
        rows, first, counts = np.unique(self.rows_of(flat), return_index=True, return_counts=True)
        positions = flat[first] - self.starts[rows]
        return {
            row: (position, count)
            for row, position, count in zip(rows.tolist(), positions.tolist(), counts.tolist(), strict=True)
        }

    def runs(self) -> tuple[NDArray[int64], NDArray[int64]]:
        """[first, last] flat indices of every run of sampled tokens; no run crosses a row."""
        import numpy as np

        if not len(self.sampled):
            return self.sampled, self.sampled
        breaks = (np.diff(self.sampled) != 1) | (np.diff(self.sampled_row) != 0)
        at = np.flatnonzero(breaks)
        firsts = self.sampled[np.concatenate([[0], at + 1])]
        lasts = self.sampled[np.concatenate([at, [len(self.sampled) - 1]])]
        return firsts, lasts

    def flat(self, get: Callable[[Trajectory], Any]) -> tuple[NDArray[floating], NDArray[bool_]]:
        """An optional array of every row, zeros where a row has none; and which rows have one."""
        import numpy as np

        values = [get(row) for row in self.rows]
        has = np.array([value is not None for value in values], dtype=np.bool_)
        lengths = self.ends - self.starts
        parts = [np.zeros(int(lengths[r])) if value is None else value for r, value in enumerate(values)]
        return np.concatenate(parts), has
