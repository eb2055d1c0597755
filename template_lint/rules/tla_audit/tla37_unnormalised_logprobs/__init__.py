"""TLA37: the values are not normalised."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class UnnormalisedLogprobs(AuditRule):
    """Values are no log-probabilities: logits, or off by a constant.

    What: many values are above 0, or sampler and trainer differ by the same amount at every token.

    Why it matters: a ratio of unnormalised values has no meaning: it changes with any constant added to the logits.

    How to fix: subtract logsumexp over the vocabulary, in float32.
    """

    code = "TLA37"
    name = "unnormalised-logprobs"
    severity = Severity.ERROR
    what = "the values are not normalised"
    remedy = "Use log_softmax (in float32) in place of logits."
