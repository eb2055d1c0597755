"""TL105: a later system message rewrites earlier text."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended, Question
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import prefix_findings


class SystemTurnPrefix(Rule):
    """A later system message is hoisted to the front, or rewrites earlier text.

    What: a system message (with a user message after it) is appended to a finished exchange. Templates that collect
    all system messages at the top change what was rendered before.

    Why it matters: an agent framework that injects reminders as system messages invalidates the whole buffer with
    each.

    How to fix: render a system message where it stands, or refuse one that is not first; send reminders as user text.
    """

    code = "TL105"
    name = "system-turn-prefix"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask every system question."""
        yield from prefix_findings(
            self,
            facts,
            Appended.SYSTEM,
            what="a later system message rewrites earlier text",
            remedy="Render a system message where it stands, or refuse one that is not first.",
            counts=lambda question: _is_its_doing(facts, question),
        )


def _is_its_doing(facts: TemplateFacts, question: Question) -> bool:
    """Whether the system message rewrites, and not already the user message after it (that is TL104's)."""
    scenario = question.scenario
    appended = scenario.messages[question.earlier : question.later]
    others = [message for message in appended if message["role"] not in ("system", "developer")]
    without = facts.render(
        [*scenario.messages[: question.earlier], *others],
        tools=scenario.tools,
        generation_prompt=True,
        kwargs=scenario.kwargs,
    )
    assert question.earlier_outcome.text is not None
    return without.text is None or without.text.startswith(question.earlier_outcome.text)
