"""Why two renders diverge: the template branch, or the printed piece, whose change restores the prefix.

Both renders are traced. A branch whose outcome differs is forced to what it was in the other render; a piece that only
one of them has at the divergence is suppressed; then pairs, then all of one render together. What restores the prefix
is the cause: proven, not guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from template_lint.facts.counterfactual import Change, Pair
from template_lint.facts.lookaheads import suspects
from template_lint.model import Place
from template_lint.rendering.sites import place_of
from template_lint.rendering.template import ChatTemplate
from template_lint.rendering.trace import Branch, Occurrence

_MOST_FLIPS = 60
_MOST_PAIRED = 8


class Cause(NamedTuple):
    """The place to look at.

    ``kind`` is ``branch`` (a condition whose outcome changed), ``output`` (a piece printed in one render only),
    ``combination`` (the first of several that must change together) or ``suspected`` (a lookahead expression; nothing
    was proven). ``outcome_earlier`` and ``outcome_later`` are the outcomes of the condition, None where a render did
    not reach it; or whether the piece was printed: both are true for a piece that moves behind what is appended.
    ``printed`` says that it is a piece and no condition, also in a combination; ``repeated`` that both renders print
    it, one of them more often.
    """

    kind: str
    site: int
    place: Place
    source: str
    outcome_earlier: bool | None
    outcome_later: bool | None
    proven: bool
    printed: bool = False
    repeated: bool = False

    @property
    def moves(self) -> bool:
        """Whether both renders print the piece, the later one behind what is appended."""
        return self.printed and bool(self.outcome_earlier and self.outcome_later)

    @property
    def key(self) -> tuple[str, int]:
        """Two divergences with one key have one cause."""
        return self.kind, self.place.offset


class CauseMemory:
    """What is known of one template's causes: sites that were proven, and divergences that could not be."""

    def __init__(self) -> None:
        self.proven_sites: set[int] = set()
        self.unproven: dict[tuple[Any, ...], Cause | None] = {}


def find_cause(
    template: ChatTemplate,
    contexts: tuple[Mapping[str, Any], Mapping[str, Any]],
    texts: tuple[str, str],
    *,
    keep: tuple[str, ...] = (),
    memory: CauseMemory | None = None,
    whole: bool = False,
) -> Cause | None:
    """The cause of the divergence of ``texts``, the renders of (earlier, later) ``contexts``.

    ``keep`` are strings of the conversation that must survive a counterfactual. ``memory`` holds what was found for
    other divergences of this template: proven causes are tried first. With ``whole`` both renders must come out equal,
    not the earlier one as the prefix of the later. Returns a suspicion where nothing is proven, None where there is not
    even that.
    """
    pair = Pair(template, contexts, texts, keep, whole)
    memory = CauseMemory() if memory is None else memory
    if pair.signature in memory.unproven:
        return memory.unproven[pair.signature]
    cause = _search(pair, memory.proven_sites)
    if cause is None:
        cause = memory.unproven[pair.signature] = _suspicion(pair)
    else:
        memory.proven_sites.add(cause.site)
    return cause


def _search(pair: Pair, known_sites: set[int]) -> Cause | None:
    singles = sorted(_changes(pair), key=lambda change: change.site not in known_sites)
    for change in singles:
        if pair.restored_by(change):
            if change.value is None:
                return _proven(pair, _named_first(pair, change), "output")
            return _proven(pair, change, "branch")
    for first, second in combinations(_closest(singles), 2):
        if first.site != second.site and pair.restored_by(first, second):
            return _proven(pair, _foremost(pair, [first, second]), "combination")
    for several in _all_together(pair, singles):
        if pair.restored_by(*several):
            return _proven(pair, _foremost(pair, _smallest(pair, several)), "combination")
    return None


def _named_first(pair: Pair, change: Change) -> Change:
    """Of several pieces, put first the one that parts the renders; else the first that is more than white space."""
    if len(change.occurrences) == 1:
        return change
    shown = {s.occurrence for s in pair.traces[not change.in_earlier].segments if s.text.strip()}
    alone = (o for o in change.occurrences if pair.reaches_further(change._replace(occurrences=(o,))))
    named = next(alone, None) or next((o for o in change.occurrences if o in shown), change.occurrences[0])
    return change._replace(occurrences=(named, *(o for o in change.occurrences if o != named)))


def _foremost(pair: Pair, changes: list[Change]) -> Change:
    """Of several that must change together, the one that makes the first difference."""
    return next((change for change in changes if pair.reaches_further(change)), changes[0])


def _all_together(pair: Pair, singles: list[Change]) -> Iterator[list[Change]]:
    """Every flipped decision of one render taken as in the other, with and without the piece that only one has."""
    gone = [change for change in singles if change.value is None]
    for in_earlier in (False, True):
        flips = {
            change.occurrences: change
            for change in singles
            if change.value is not None and change.in_earlier is in_earlier and len(change.occurrences) == 1
        }
        if flips:
            yield list(flips.values())
            for change in gone:
                yield [*flips.values(), change]


def _smallest(pair: Pair, changes: list[Change]) -> list[Change]:
    """Leave out, one by one, what is not needed; the decision nearest to the divergence stays longest."""
    for change in reversed(changes):
        fewer = [other for other in changes if other is not change]
        if fewer and pair.restored_by(*fewer):
            changes = fewer
    return changes


def _closest(singles: list[Change]) -> list[Change]:
    # Flips of the later render, flips of the earlier render and suppressions, a few of each.
    groups: dict[tuple[bool, bool], list[Change]] = {}
    for change in singles:
        groups.setdefault((change.in_earlier, change.value is None), []).append(change)
    return [change for group in groups.values() for change in group[:_MOST_PAIRED]]


def _changes(pair: Pair) -> Iterator[Change]:
    by_occurrence = {branch.occurrence: branch for branch in pair.traces[1].branches}
    flips: list[tuple[Branch, Branch]] = []
    for branch in pair.traces[0].branches:
        other = by_occurrence.get(branch.occurrence)
        if other is not None and other.outcome != branch.outcome and not pair.asks_for_prompt(branch):
            flips.append((branch, other))
    divergence = pair.order_at_divergence(0)
    # The last decision before the divergence is the likeliest to have made it.
    flips.sort(key=lambda flip: (flip[0].order > divergence, -flip[0].order))
    for earlier, later in flips[:_MOST_FLIPS]:
        yield Change(False, (later.occurrence,), earlier.outcome)
        yield Change(True, (earlier.occurrence,), later.outcome)
    yield from _suppressions(pair)
    yield from _whole_sites(flips)
    yield from _unmatched(pair)


def _suppressions(pair: Pair) -> Iterator[Change]:
    for which in (0, 1):
        tail = [
            segment.occurrence
            for start, segment in pair.traces[which].placed()
            if start >= pair.starts[which] and segment.text and segment.occurrence[0] >= 0
        ]
        if tail:
            for count in range(1, min(len(tail), 4) + 1):
                yield Change(which == 0, tuple(tail[:count]), None)
            if which == 0 and len(tail) > 4:
                yield Change(True, tuple(tail), None)
            if which == 0 and len(tail) > 1:
                # An end of text that only the earlier render has, besides what parts the two.
                yield Change(True, (tail[-1],), None)


def _whole_sites(flips: list[tuple[Branch, Branch]]) -> Iterator[Change]:
    """A condition that flipped several times is one decision: force all its occurrences together."""
    by_site: dict[int, list[tuple[Branch, Branch]]] = {}
    for flip in flips:
        by_site.setdefault(flip[0].occurrence[0], []).append(flip)
    for group in by_site.values():
        if len(group) > 1:
            for value in (True, False):
                yield from _together(
                    False, [later.occurrence for earlier, later in group if earlier.outcome is value], value
                )
                yield from _together(
                    True, [earlier.occurrence for earlier, later in group if later.outcome is value], value
                )


def _together(in_earlier: bool, occurrences: list[Occurrence], value: bool) -> Iterator[Change]:
    if len(occurrences) > 1:
        yield Change(in_earlier, tuple(occurrences), value)


def _unmatched(pair: Pair) -> Iterator[Change]:
    """Decisions that only one render took: close to the divergence, try the other outcome."""
    for which in (0, 1):
        others = {branch.occurrence for branch in pair.traces[1 - which].branches}
        divergence = pair.order_at_divergence(which)
        alone = [
            branch
            for branch in pair.traces[which].branches
            if branch.occurrence not in others and not pair.asks_for_prompt(branch)
        ]
        alone.sort(key=lambda branch: abs(branch.order - divergence))
        for branch in alone[: 2 * _MOST_PAIRED]:
            yield Change(which == 0, (branch.occurrence,), not branch.outcome)


def _proven(pair: Pair, change: Change, kind: str) -> Cause:
    template, which = pair.template, int(not change.in_earlier)
    site = template.sites[change.site]
    outcomes: list[bool | None]
    if change.value is None:
        outcomes = [change.in_earlier, not change.in_earlier or pair.moves(change)]
    else:
        # The change forces the outcome of the other render, or turns round a decision that the other did not reach.
        outcomes = [change.value if pair.reached_by_both(change) else None] * 2
        outcomes[which] = not change.value
    source = template.source_map.text[site.start : site.end]
    place = place_of(site, template.source_map)
    printed = change.value is None
    repeated = printed and pair.repeats(change)
    return Cause(kind, site.number, place, source, outcomes[0], outcomes[1], True, printed, repeated)


def _suspicion(pair: Pair) -> Cause | None:
    for node in suspects(pair.template.tree):
        source_map = pair.template.source_map
        start, end = source_map.expression_range(node)
        if end > start:
            return Cause("suspected", -1, source_map.place(start, end), source_map.text[start:end], None, None, False)
    return None
