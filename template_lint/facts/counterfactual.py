"""The counterfactual question: two renders of one template that part, and what they are with decisions changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from template_lint.facts.prefix import common_prefix_length
from template_lint.rendering.template import ChatTemplate
from template_lint.rendering.trace import Branch, Occurrence, Segment, Trace
from template_lint.scenarios.model import strings_of

_OF_MESSAGES = r"\bloop\b|message|\blast\b|\bindex"


class Change(NamedTuple):
    """One decision changed in one of the two renders. ``value`` is the forced outcome; None suppresses a printed
    piece.
    """

    in_earlier: bool
    occurrences: tuple[Occurrence, ...]
    value: bool | None

    @property
    def site(self) -> int:
        """The site that is changed."""
        return self.occurrences[0][0]


class Pair:
    """The two renders, and the counterfactual question."""

    def __init__(
        self,
        template: ChatTemplate,
        contexts: tuple[Mapping[str, Any], Mapping[str, Any]],
        texts: tuple[str, str],
        keep: tuple[str, ...],
        whole: bool,
    ) -> None:
        self.template = template
        self.contexts = contexts
        self.texts = texts
        self.whole = whole
        self.offset = common_prefix_length(*texts)
        self.traces = template.trace(contexts[0])[1], template.trace(contexts[1])[1]
        # Two different pieces often share their first characters ("<|"): what counts is where the piece begins.
        self.starts = self._piece_start(0), self._piece_start(1)
        self._keep = tuple(value for value in keep if value in texts[0])
        self._shared = self._shared_tail()

    def _piece_start(self, which: int) -> int:
        trace = self.traces[which]
        return next((start for start, _ in trace.holding(self.offset)), sum(len(s.text) for s in trace.segments))

    def _shared_tail(self) -> list[str]:
        """What the earlier render prints after the divergence and the later one prints too before any new message.

        A counterfactual that takes it from the earlier render would only cut that render off where the two part.
        """
        before = {segment.occurrence for segment in self.traces[0].segments}
        sites = {site for site, _ in before}
        known = self.contexts[0]["messages"]
        new = [message for message in self.contexts[1]["messages"][len(known) :] if isinstance(message, Mapping)]
        words = [text for text in strings_of(new) if text not in self.texts[0]]
        shared: set[Occurrence] = set()
        for segment in self._after(1):
            if segment.occurrence not in before:
                another_turn = segment.occurrence[0] in sites
                if another_turn or any(word in segment.text for word in words):
                    break
            shared.add(segment.occurrence)
        return [segment.text for segment in self._after(0) if segment.occurrence in shared and segment.text.strip()]

    def _after(self, which: int) -> Iterator[Segment]:
        """The pieces from the one that holds the divergence on."""
        return (segment for start, segment in self.traces[which].placed() if start >= self.starts[which])

    @property
    def signature(self) -> tuple[Any, ...]:
        """Which pieces part, and how far into them: equal for divergences that look alike."""
        return tuple((self._site_at(which), self.offset - self.starts[which]) for which in (0, 1))

    def _site_at(self, which: int) -> int:
        return next((segment.occurrence[0] for _, segment in self.traces[which].holding(self.offset)), -1)

    def restored_by(self, *changes: Change) -> bool:
        """Whether the prefix (or, with ``whole``, the text) holds with these changes, and nothing went missing."""
        earlier = self._render(0, [change for change in changes if change.in_earlier])
        later = self._render(1, [change for change in changes if not change.in_earlier])
        if earlier is None or later is None or not later.startswith(earlier) or (self.whole and later != earlier):
            return False
        # Emptying the earlier render would restore any prefix: what both had in common must stay, and the messages too.
        common = self.texts[0][: min(self.starts)]
        if not earlier.startswith(common) or not all(value in earlier for value in self._keep):
            return False
        at = len(common)
        for text in self._shared:
            at = earlier.find(text, at)
            if at < 0:
                return False
            at += len(text)
        return True

    def reached_by_both(self, change: Change) -> bool:
        """Whether the render that is not changed takes the decision too."""
        taken = {branch.occurrence for branch in self.traces[1 if change.in_earlier else 0].branches}
        return all(occurrence in taken for occurrence in change.occurrences)

    def reaches_further(self, change: Change) -> bool:
        """Whether the two renders part later with this one decision changed: then it is what parts them."""
        earlier = self._render(0, [change] if change.in_earlier else [])
        later = self._render(1, [] if change.in_earlier else [change])
        return earlier is not None and later is not None and common_prefix_length(earlier, later) > self.offset

    def moves(self, change: Change) -> bool:
        """Whether a piece taken from the earlier render is in the later one behind what is appended."""
        taken = sum(len(s.text) for s in self.traces[0].segments if s.occurrence in change.occurrences)
        at = [start for start, s in self.traces[1].placed() if s.occurrence == change.occurrences[0] and s.text]
        return bool(at) and at[0] >= len(self.texts[0]) - taken

    def repeats(self, change: Change) -> bool:
        """Whether the render that is not changed prints the piece too, for another message, and less often."""
        own, other = (self._count(which, change.site) for which in (not change.in_earlier, change.in_earlier))
        return own > other > 0

    def _count(self, which: int, site: int) -> int:
        return sum(segment.occurrence[0] == site and bool(segment.text) for segment in self.traces[which].segments)

    def asks_for_prompt(self, branch: Branch) -> bool:
        """Whether a condition turns on ``add_generation_prompt``, on no message and on nothing that looks ahead.

        The question itself changes that variable, so such a condition explains nothing.
        """
        site = self.template.sites[branch.occurrence[0]]
        source = self.template.source_map.text[site.start : site.end]
        return "add_generation_prompt" in source and not re.search(_OF_MESSAGES, source)

    def _render(self, which: int, changes: list[Change]) -> str | None:
        if not changes:
            return self.texts[which]
        forced = {o: change.value for change in changes if change.value is not None for o in change.occurrences}
        gone = frozenset(o for change in changes if change.value is None for o in change.occurrences)
        return self.template.trace(self.contexts[which], Trace(forced=forced, suppressed=gone))[0].text

    def order_at_divergence(self, which: int) -> int:
        """Place in the event sequence of the piece that holds the divergence (or of the end)."""
        return self.traces[which].order_at(self.offset)
