"""TLA04: no token was sampled."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class NothingSampled(AuditRule):
    """A trajectory has no sampled token.

    What: at least one token of each trajectory has mask 1.

    Why it matters: a mean over the sampled tokens of such a row divides by zero: NaN in the loss, or a silent guard
    that hides how many rows are empty.

    How to fix: drop such rows before the loss, and find out why they are there: an aborted request, a prompt that
    filled the context, a mask cut off with the completion.
    """

    code = "TLA04"
    name = "nothing-sampled"
    severity = Severity.ERROR
    what = "no token was sampled"
    remedy = "Drop these rows before the loss."
