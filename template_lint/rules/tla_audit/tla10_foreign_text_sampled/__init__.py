"""TLA10: text that the model did not write has mask 1."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class ForeignTextSampled(AuditRule):
    """Text of the user or of a tool has mask 1.

    What: sampled tokens stand in turns that begin as the template begins the model's. How turns begin is read off
    renders of the target's own template; where a tool result is followed by no such beginning, the rule is not
    asked. Nor does a mask go on behind the stop token of a turn: one that does is a token late, or takes in what
    the template writes there.

    Why it matters: the model is trained to invent tool results and user turns. In agentic runs that is the most
    common mistake in masks: each tool message is part of the completion, and none of it was sampled.

    How to fix: set the mask to 0 for everything that a delta adds.
    """

    code = "TLA10"
    name = "foreign-text-sampled"
    severity = Severity.ERROR
    what = "text that the model did not write has mask 1"
    remedy = "Set the mask to 0 for tool results, the headers around them, and what follows a stop token."
