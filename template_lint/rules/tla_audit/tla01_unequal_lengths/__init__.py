"""TLA01: ids, mask and log-probabilities differ in length."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class UnequalLengths(AuditRule):
    """Ids, mask and log-probabilities of a buffer are not equally long.

    What: each trajectory has one mask value and one log-probability (of the sampler, and of the trainer where it
    was recorded) per token id, for the whole buffer or for all that follows the prompt.

    Why it matters: a loss reads these lists in step. One entry too few shifts everything behind it to the wrong
    token, or the batch is cut to the shortest list; both train on something that was never sampled.

    How to fix: let one piece of code append ids, mask and log-probabilities together, as
    ``template_lint.tito.Buffer`` does. Lists that lack one entry per turn often lack the stop token.
    """

    code = "TLA01"
    name = "unequal-lengths"
    severity = Severity.ERROR
    what = "ids, mask and log-probabilities differ in length"
    remedy = "Grow the lists together; look at what is appended at the end of a turn."
