"""What the rules about masks share: which turns they judge, and one finding per kind of mistake."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.masks import MarkedTurn, displaced_tags, marked_turns
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import plural, shorten

_BEGUN_TAG = re.compile(r"[<\[][^<>\[\]\s]{0,20}\Z")


class Wrong(NamedTuple):
    """A mistake in one turn: ``message`` with ``{text}`` for the ``[start, end)`` it is about, in ``turn.text``."""

    turn: MarkedTurn
    message: str
    start: int
    end: int
    severity: Severity = Severity.ERROR

    @property
    def text(self) -> str:
        """The text that is marked and should not be, or the other way round."""
        return self.turn.text[self.start : self.end]


def judged(facts: TemplateFacts) -> list[MarkedTurn]:
    """The turns to judge. None where tags are displaced: that is TL404's to report."""
    turns = marked_turns(facts)
    if not turns:
        raise Skip("no finished reply can be judged: none is printed, or each rewrites what came before")
    return [] if displaced_tags(facts) else turns


def model_start(turn: MarkedTurn) -> int:
    """Where the model's own text begins: where the generation prompt ends, or the tag in which the turn parts from it.

    Two tags that differ, such as ``<think>`` and ``<tool_call>``, often share their first characters.
    """
    begun = None if turn.exact else _BEGUN_TAG.search(turn.text, turn.history, turn.start)
    return begun.start() if begun else turn.start


def mask_findings(rule: Rule, facts: TemplateFacts, found: list[Wrong], remedy: str) -> list[Finding]:
    """One finding per message (``{text}`` not filled in): the first mistake, in how many turns it is made, and in how
    many it is made with other text.
    """
    groups: dict[str, list[Wrong]] = {}
    for wrong in found:
        groups.setdefault(wrong.message, []).append(wrong)
    return [_finding(rule, facts, group, remedy) for group in groups.values()]


def _finding(rule: Rule, facts: TemplateFacts, group: list[Wrong], remedy: str) -> Finding:
    first = group[0]
    turn = first.turn
    names = list(dict.fromkeys(wrong.turn.scenario.name for wrong in group))
    message = first.message.format(text=shorten(first.text))
    same = sum(first.text in wrong.text for wrong in group)
    more = f"; other text in {len(group) - same}" if same < len(group) else ""
    evidence: dict[str, Any] = {
        "expected": turn.text[model_start(turn) : turn.stop],
        "marked": [turn.text[a:b] for a, b in turn.marked],
        "scenarios": names,
    }
    return rule.finding(
        facts,
        f"{message} ({same} of {plural(len(marked_turns(facts)), 'turn')}{more})",
        remedy=remedy,
        place=facts.printed_at(turn.scenario, turn.length, False, first.start) if first.start else None,
        scenario=names[0],
        evidence=evidence,
        severity=first.severity,
    )
