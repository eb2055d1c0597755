"""TL104: appending a user turn rewrites history."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import prefix_findings, require_turns


class UserTurnPrefix(Rule):
    """Appending a user turn rewrites history.

    What: a finished exchange is rendered, then the same exchange with the next user message. Many reasoning models
    drop their earlier thinking there, on purpose: that of a field, or what stands before ``</think>`` in a content.
    Templates of judges, which quote a conversation, are not asked. Where one condition, or one printed text, breaks
    tool results or replies too, the finding of TL101, TL103 or TL108 tells both.

    Why it matters: within one tool loop nothing breaks, but a buffer that grows over several user turns no longer
    equals what the model would be shown. Each user turn must then start a new training row.

    How to fix: set the template kwarg that the finding names, if there is one; or cut trajectories at user turns.
    """

    code = "TL104"
    name = "user-turn-prefix"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask every user question."""
        require_turns(facts)
        yield from prefix_findings(
            self,
            facts,
            Appended.USER,
            what="appending a user turn rewrites history",
            remedy="Start a new training row at each user turn, or keep history as the model saw it.",
        )
