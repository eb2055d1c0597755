"""TLA38: the mask marks tokens for which the sampler recorded nothing."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class MisplacedMask(AuditRule):
    """The mask marks other tokens than those that were sampled.

    What: tokens with mask 1 for which the sampler recorded nothing disagree, and all others agree; or
    log-probabilities were recorded beside the mask and are missing inside it.

    Why it matters: the loss covers text that was given to the model and leaves out text that it wrote.

    How to fix: build mask and log-probabilities in the same place. A mask that is off by a constant number of
    tokens was built for another prompt length.
    """

    code = "TLA38"
    name = "misplaced-mask"
    severity = Severity.ERROR
    what = "the mask marks tokens for which the sampler recorded nothing"
    remedy = "Build the mask where tokens are appended, not from lengths afterwards."
