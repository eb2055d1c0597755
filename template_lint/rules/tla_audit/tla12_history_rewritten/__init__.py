"""TLA12: history was rewritten between turns of a rollout."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule, Seen


class HistoryRewritten(AuditRule):
    """A later turn of a rollout does not begin with the turn before.

    What: of two neighbouring rows of one rollout, the later buffer begins with the earlier one.

    Why it matters: the history was rendered again and changed on the way: each turn is a sample of its own, and
    joining them to one trajectory trains on tokens that were never sampled in that context.

    How to fix: append to the buffer instead of rendering again (see the guide Token in, token out), or train on
    each turn alone.
    """

    code = "TLA12"
    name = "history-rewritten"
    severity = Severity.WARNING
    what = "history was rewritten between turns of a rollout"
    remedy = "Append ids to the buffer; `template-lint check` says which line of the template rewrites history."

    def describe(self, seen: Seen) -> str:
        """These are pairs of rows."""
        return f"{seen.found:,} of {seen.asked:,} later turns: {self.what}. First: {seen.first}"
