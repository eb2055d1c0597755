"""TL106: the delta of a tool result depends on the conversation before it."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import Cause
from template_lint.facts.delta import (
    DeltaDifference,
    comes_from_tools,
    delta_cause,
    delta_differences,
    holds_the_call,
)
from template_lint.facts.prefix import wants_generation_prompt
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.divergence import cause_evidence, outcome_word
from template_lint.rules.wording import around, code, listed, shorten, word_start


class DeltaDependsOnHistory(Rule):
    """The text that a tool result adds depends on the conversation before it.

    What: the delta (render with the tool result minus render without) is taken from a dummy conversation of one user
    message and one call, and from the real one: in the second and third round, after a user turn, with ``tools=``.
    Both prefixes hold, and still the deltas differ. Where only ``tools=`` makes the difference, and only with a
    thinking switch set, it is a warning.

    Why it matters: token-in-token-out loops compute the delta on the dummy. The buffer then holds other ids than the
    model is served with, from the second round on, and nothing fails.

    How to fix: close and open turns by looking at the neighbouring message only, not at a flag set earlier in the
    history. Where the delta holds the call itself, print each call in its own turn, also while it is the last.
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
            # The call begins where the delta begins, whatever differs in it.
            place = _printing_place(facts, difference, 0 if holds_the_call(difference) else difference.at)
            groups.setdefault(place.offset if place else -1, (place, []))[1].append(difference)
        for place, group in groups.values():
            yield self._finding(facts, place, group, compared)

    def _finding(
        self, facts: TemplateFacts, printed: Place | None, group: list[DeltaDifference], compared: int
    ) -> Finding:
        first = group[0]
        names = list(dict.fromkeys(difference.question.scenario.name for difference in group))
        real_excerpt, at = around(first.real, first.at)
        dummy_excerpt, _ = around(first.dummy, first.at)
        message, remedy, cause, place = _explained(facts, first, names)
        return self.finding(
            facts,
            f"{message} ({len(group)} of {compared} deltas)",
            remedy=remedy,
            place=place or printed,
            scenario=names[0],
            severity=Severity.WARNING if _only_on_request(facts, group) else None,
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


def _only_on_request(facts: TemplateFacts, group: list[DeltaDifference]) -> bool:
    """Whether tools= makes the difference, and only where a switch is set that is off by itself."""
    return all(difference.question.scenario.kwargs for difference in group) and comes_from_tools(facts, group[0])


def _explained(
    facts: TemplateFacts, first: DeltaDifference, names: list[str]
) -> tuple[str, str, Cause | None, Place | None]:
    """What makes the deltas differ: message, remedy, the proven cause, and where to look."""
    if holds_the_call(first):
        return (
            f"the delta of a tool result holds the call that it answers, {shorten(first.real, 40)}:"
            " the call is not printed while its turn is the last",
            "Print each call in its own turn, whether or not a result follows.",
            None,
            None,
        )
    start = word_start(first.real, first.at)
    dummy, real = shorten(first.dummy[start:], 28), shorten(first.real[start:], 28)
    if comes_from_tools(facts, first):
        return (
            f"the delta of a tool result depends on tools=: without it the dummy has {dummy},"
            f" with it it is {real} ({listed(names, 2)})",
            "Compute the delta on a dummy with the same tools=, or print results alike with and without it.",
            None,
            None,
        )
    cause = delta_cause(facts, first)
    because = ""
    if cause is not None:
        outcomes = f"{outcome_word(cause.outcome_later)} there and {outcome_word(cause.outcome_earlier)} on the dummy"
        because = f", because {code(cause.source)} on line {cause.place.line} is {outcomes}"
    return (
        f"the delta of a tool result depends on history: on the dummy it has {dummy},"
        f" in {listed(names, 2)} {real}{because}",
        "Open, close and number by the neighbouring messages only, not by a flag or a count over the history;"
        " until then compute each delta on the real conversation.",
        cause,
        cause.place if cause else None,
    )


def _printing_place(facts: TemplateFacts, difference: DeltaDifference, at: int) -> Place | None:
    """Where the template prints a character of the real delta."""
    question = difference.question
    assert question.earlier_outcome.text is not None
    return facts.printed_at(
        question.scenario,
        question.later,
        wants_generation_prompt(question.scenario, question.later),
        len(question.earlier_outcome.text) + at,
    )
