"""TL308: a mark opens what is not closed, or closes what is not open."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.balance import Imbalance, imbalances
from template_lint.facts.turn import plain_turn
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.wording import around

_WORDS = {
    "unopened": "{closer} closes what {opener} has not opened",
    "reopened": "{opener} opens again what {closer} has not closed",
    "unclosed": "{opener} opens what {closer} never closes",
}
_REMEDIES = {
    "unopened": "Print both marks under the same condition. State kept in a namespace must be reset for every round.",
    "reopened": "Print {closer} first, or {opener} only where nothing is open.",
    "unclosed": "Print both marks under the same condition.",
}


class UnbalancedMarkers(Rule):
    """A mark opens something that is not closed exactly once.

    What: marks that belong together by name, such as ``<|im_start|>`` and ``<|im_end|>`` or ``<tool_responses>`` and
    ``</tool_responses>``, must alternate in finished conversations: plain ones, one and several calls, two rounds,
    calls with a null content. Marks of thinking blocks do not count: a block may be opened in the prompt.

    Why it matters: the model was trained on the other form. Parsers that look for both ends find nothing.

    How to fix: print both marks under the same condition. State kept in a namespace must be reset for every turn.
    """

    code = "TL308"
    name = "unbalanced-markers"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per pair. Turns that have no end at all are TL304's."""
        turn = plain_turn(facts)
        endless = None if turn is None or turn.last.marks else turn.next_header
        for wrong in imbalances(facts):
            if wrong.opener != endless:
                yield self._finding(facts, wrong)

    def _finding(self, facts: TemplateFacts, wrong: Imbalance) -> Finding:
        message = _WORDS[wrong.kind].format(opener=wrong.opener, closer=wrong.closer)
        excerpt, at = around(wrong.text, wrong.offset)
        return self.finding(
            facts,
            f"{message} ({wrong.name})",
            remedy=_REMEDIES[wrong.kind].format(opener=wrong.opener, closer=wrong.closer),
            place=facts.place_in(wrong.messages, wrong.offset, tools=wrong.tools),
            scenario=wrong.name,
            evidence={
                "opener": wrong.opener,
                "closer": wrong.closer,
                "kind": wrong.kind,
                "excerpt": excerpt,
                "excerpt_offset": at,
            },
        )
