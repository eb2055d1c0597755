"""TLA09: a sampled turn does not end with a stop token."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class UnfinishedTurn(AuditRule):
    """A sampled turn ends with no stop token and is not marked truncated.

    What: every run of sampled tokens ends with a stop id of the target (or one named with ``--stop-ids``), unless
    it is the last one and the row says that it was cut off.

    Why it matters: without its stop token a model is not trained to stop; with the token masked out, the same. A
    turn that was cut off and not marked is rewarded as if the model had ended it. A mask that is one token early
    shows here too: the stop token behind each turn has mask 0 then.

    How to fix: keep the stop token in the completion with mask 1, and record the finish reason. Name further stop
    ids with ``--stop-ids``, for example those of stop strings.
    """

    code = "TLA09"
    name = "unfinished-turn"
    severity = Severity.ERROR
    what = "a sampled turn does not end with a stop token"
    remedy = "Keep the stop token, with mask 1; record truncation; name other stop tokens with --stop-ids."
