"""TLA07: log-probabilities that cannot be."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class LogprobValues(AuditRule):
    """A log-probability of a sampled token is not a finite number up to 0.

    What: log-probabilities of sampled tokens are numbers, at most 0 (0.0001 is allowed for rounding); the sampler's
    are finite, for what has probability 0 is not sampled.

    Why it matters: NaN and infinities spread through the loss into the weights. Values above 0 are logits, or
    losses of the wrong sign.

    How to fix: record the natural logarithm of the probability that the token was drawn with. Null in place of a
    number means that the engine was not asked for log-probabilities of every token.
    """

    code = "TLA07"
    name = "logprob-values"
    severity = Severity.ERROR
    what = "log-probabilities that cannot be"
    remedy = "Record natural log-probabilities for every sampled token, as the sampler returned them."
