"""TL106: the delta of a tool result depends on the conversation before it."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.delta import DeltaDifference, delta_cause, delta_differences
from template_lint.facts.prefix import wants_generation_prompt
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.divergence import cause_evidence
from template_lint.rules.wording import around, code, listed, shorten, word_start


class DeltaDependsOnHistory(Rule):
    """The text that a tool result adds depends on the conversation before it.

    What: the delta (render with the tool result minus render without) is taken from a dummy conversation of one user
    message and one call, and from the real one: in the second and third round, after a user turn, with ``tools=``.
    Both prefixes hold, and still the deltas differ.

    Why it matters: token-in-token-out loops compute the delta on the dummy. The buffer then holds other ids than the
    model is served with, from the second round on, and nothing fails.

    How to fix: close and open turns by looking at the neighbouring message only, not at a flag set earlier in the
    history.
    """

    code = "TL106"
    name = "delta-depends-on-history"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare both deltas of every tool question."""
        different, compared = delta_differences(facts)
        if not compared:
            raise Skip("the delta is not defined: no tool prefix holds on the dummy conversation")
        groups: dict[int, tuple[Place | None, list[DeltaDifference]]] = {}
        for difference in different:
            place = _printing_place(facts, difference)
            groups.setdefault(place.offset if place else -1, (place, []))[1].append(difference)
        for place, group in groups.values():
            yield self._finding(facts, place, group, compared)

    def _finding(
        self, facts: TemplateFacts, printed: Place | None, group: list[DeltaDifference], compared: int
    ) -> Finding:
        first = group[0]
        cause = delta_cause(facts, first)
        because = ""
        if cause is not None:
            outcomes = f"{str(cause.outcome_later).lower()} there and {str(cause.outcome_earlier).lower()} on the dummy"
            because = f", because {code(cause.source)} on line {cause.place.line} is {outcomes}"
        names = list(dict.fromkeys(difference.question.scenario.name for difference in group))
        real_excerpt, at = around(first.real, first.at)
        dummy_excerpt, _ = around(first.dummy, first.at)
        start = word_start(first.real, first.at)
        return self.finding(
            facts,
            f"the delta of a tool result depends on history: on the dummy it has {shorten(first.dummy[start:], 28)}, "
            f"in {listed(names, 2)} {shorten(first.real[start:], 28)}{because} ({len(group)} of {compared} deltas)",
            remedy="Open and close turns by the neighbouring message only, not by a flag that an earlier message set.",
            place=cause.place if cause else printed,
            scenario=names[0],
            evidence={
                "earlier": dummy_excerpt,
                "later": real_excerpt,
                "excerpt_offset": at,
                "offset": first.at,
                "delta_dummy": first.dummy,
                "delta_real": first.real,
                "scenarios": names,
                "cause": cause_evidence(cause),
            },
        )


def _printing_place(facts: TemplateFacts, difference: DeltaDifference) -> Place | None:
    """Where the template prints the first character of the real delta that the dummy has not."""
    question = difference.question
    assert question.earlier_outcome.text is not None
    return facts.printed_at(
        question.scenario,
        question.later,
        wants_generation_prompt(question.scenario, question.later),
        len(question.earlier_outcome.text) + difference.at,
    )
