"""A bounded memory of what was computed: it forgets what was not asked for longest, and never grows with a file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

ENTRY_BYTES = 250
"""What an entry takes besides its key and value, about."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Values by key, up to a total of ``most`` bytes, by the weights that are given with them."""

    def __init__(self, most: int) -> None:
        self.weight = 0
        self._most = most
        self._items: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Key) -> Value | None:
        """The value, None where it is not (or no longer) remembered."""
        item = self._items.get(key)
        if item is None:
            return None
        self._items.move_to_end(key)
        return item[0]

    def put(self, key: Key, value: Value, weight: int) -> None:
        """Remember a value, but none that is heavier than half of all: it would push out too much."""
        if weight > self._most // 2 or key in self._items:
            return
        self._items[key] = value, weight
        self.weight += weight
        while self.weight > self._most:
            _, (_, gone) = self._items.popitem(last=False)
            self.weight -= gone
