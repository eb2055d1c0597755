"""What a repair is for: the laws it should restore, how far a template is from each, and the edits that may help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import Cause
from template_lint.facts.delta import delta_cause, delta_differences
from template_lint.facts.divergences import divergences
from template_lint.facts.prefix import Appended
from template_lint.patches.pair import NotApplicable, Pair
from template_lint.patches.proof import LAWS
from template_lint.patches.strategies import Candidate
from template_lint.patches.strategies.conditions import from_cause, from_lookaheads
from template_lint.patches.strategies.pieces import from_order, from_piece
from template_lint.patches.strategies.shapes import accept_both_arguments, guard_content

_MOST_DIFFERENCES = 12

Distance = tuple[int, int]
"""(questions that fail, minus the sum of the offsets at which they do): less is better, nothing is (0, 0)."""


class Goal(NamedTuple):
    """One law to restore. A template that fails a ``required`` one cannot be used for training."""

    law: str
    rule: str
    required: bool
    candidates: Callable[[TemplateFacts], Iterator[Candidate]]

    def distance(self, original: TemplateFacts, candidate: TemplateFacts) -> Distance:
        """How far ``candidate`` is from the goal; (0, 0) too where the law cannot be asked."""
        pair = Pair(original, candidate, frozenset({"tool"}))
        failing = offsets = 0
        try:
            for answer in LAWS[self.law](pair):
                if answer is not None:
                    failing += 1
                    offsets += answer.offset
        except NotApplicable:
            pass
        return failing, -offsets


def _for_prefix(facts: TemplateFacts) -> Iterator[Candidate]:
    seen: set[tuple[str, int]] = set()
    for divergence in divergences(facts, Appended.TOOL):
        cause = divergence.cause
        if cause is not None and cause.proven and cause.key not in seen:
            seen.add(cause.key)
            yield from from_piece(facts, divergence, cause) if cause.printed else from_cause(facts, cause)
            yield from from_order(facts, cause)
    yield from from_lookaheads(facts)


def _for_delta(facts: TemplateFacts) -> Iterator[Candidate]:
    causes: dict[tuple[str, int], Cause] = {}
    for difference in delta_differences(facts)[0][:_MOST_DIFFERENCES]:
        cause = delta_cause(facts, difference)
        if cause is not None:
            causes.setdefault(cause.key, cause)
    for cause in causes.values():
        yield from from_cause(facts, cause)
    yield from from_lookaheads(facts)


GOALS = (
    Goal("prefix-tool", "TL101", True, _for_prefix),
    Goal("delta-history", "TL106", True, _for_delta),
    Goal("null-content", "TL205", False, guard_content),
    Goal("arguments", "TL205", False, accept_both_arguments),
)
