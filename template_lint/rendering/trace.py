"""Which template node made which piece of output, and how each branch went; and the same render with a decision
changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from template_lint.rendering.environment import ChatEnvironment

Occurrence = tuple[int, int]
"""(site index, how often that site was reached before in the same render)."""


class Branch(NamedTuple):
    """One decision: ``order`` is its place in the sequence of all events of the render."""

    occurrence: Occurrence
    outcome: bool
    order: int


class Segment(NamedTuple):
    """A run of output text and the site that printed it."""

    occurrence: Occurrence
    order: int
    text: str


class Piece(str):
    """Output text that remembers its segments while Jinja passes it through macros, ``set`` blocks and captures."""

    _segments: tuple[Segment, ...]

    def __new__(cls, segments: tuple[Segment, ...]) -> Piece:
        """Make the concatenation of ``segments``."""
        self = super().__new__(cls, "".join([segment.text for segment in segments]))
        self._segments = segments
        return self

    def __str__(self) -> str:
        return self


class Trace:
    """The record of one traced render.

    ``forced`` maps an occurrence of a branch to the outcome it must take; ``suppressed`` holds occurrences of printed
    pieces that must come out empty. Both are how counterfactual questions are asked. ``passed`` names the sites that
    print a piece again, from the inside out: the calls of the macros that printed it, the names that it was set to.
    ``watched`` is the first site that prints a text with ``watch`` in it, also where an expression takes that text in.
    """

    def __init__(
        self,
        *,
        forced: Mapping[Occurrence, bool] | None = None,
        suppressed: frozenset[Occurrence] = frozenset(),
        watch: str | None = None,
    ) -> None:
        self.forced = forced or {}
        self.suppressed = suppressed
        self.watch = watch
        self.watched: int | None = None
        self.branches: list[Branch] = []
        self.segments: tuple[Segment, ...] = ()
        self.passed: dict[Occurrence, list[int]] = {}
        self._reached: dict[int, int] = {}
        self._order = 0

    def _next(self, site: int) -> Occurrence:
        count = self._reached.get(site, 0)
        self._reached[site] = count + 1
        self._order += 1
        return site, count

    def branch(self, site: int, value: Any) -> bool:
        """Record a decision; give back the outcome it is to have."""
        occurrence = self._next(site)
        outcome = self.forced[occurrence] if occurrence in self.forced else bool(value)
        self.branches.append(Branch(occurrence, outcome, self._order))
        return outcome

    def emit(self, site: int, value: Any) -> str:
        """Record a printed value; give back the text to print."""
        occurrence = self._next(site)
        text = str(value)
        if self.watch is not None and self.watched is None and self.watch in text:
            self.watched = site
        if occurrence in self.suppressed:
            return ""
        if isinstance(text, Piece):
            for segment in text._segments:
                self.passed.setdefault(segment.occurrence, []).append(site)
            return text
        return Piece((Segment(occurrence, self._order, text),))

    def placed(self) -> Iterator[tuple[int, Segment]]:
        """Every segment with the offset at which it begins."""
        position = 0
        for segment in self.segments:
            yield position, segment
            position += len(segment.text)

    def holding(self, offset: int) -> Iterator[tuple[int, Segment]]:
        """The segment that holds the character at ``offset``, and those behind it; each with where it begins."""
        return ((start, segment) for start, segment in self.placed() if start + len(segment.text) > offset)

    def order_at(self, offset: int) -> int:
        """Place in the sequence of events of the piece that holds the character at ``offset``; past all at the end."""
        return next((segment.order for _, segment in self.holding(offset)), self._order + 1)

    def concat(self, parts: Iterable[str]) -> str:
        """Jinja's ``environment.concat``: join parts, keeping their segments."""
        segments: list[Segment] = []
        for part in parts:
            if isinstance(part, Piece):
                segments.extend(part._segments)
            elif part:
                segments.append(Segment((-1, 0), self._order, part))
        return Piece(tuple(segments))


class TracingEnvironment(ChatEnvironment):
    """A chat environment whose templates report to ``trace``."""

    trace: Trace
