"""How far values are followed in a template's source: strangers write templates that take for ever."""

from __future__ import annotations

_OF_A_QUESTION = 5_000
_OF_ALL = 60_000


class Budget:
    """Steps and depth of the questions about one template.

    A question that takes more has no answer beyond the bound. ``overdrawn`` says that all questions together took so
    many steps that later ones were not asked at all.
    """

    def __init__(self, most_depth: int) -> None:
        self.overdrawn = False
        self._most_depth = most_depth
        self._depth = 0
        self._steps = 0
        self._all_steps = 0

    def enter(self) -> bool:
        """Begin a step, to be ended by ``leave``; False where there is none left."""
        if self._depth == 0:
            self._steps = 0
        if self._all_steps >= _OF_ALL:
            self.overdrawn = True
            return False
        if self._depth >= self._most_depth or self._steps >= _OF_A_QUESTION:
            return False
        self._depth += 1
        self._steps += 1
        self._all_steps += 1
        return True

    def leave(self) -> None:
        """End a step."""
        self._depth -= 1
