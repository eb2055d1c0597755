"""TLA33: the sampler's log-probabilities are those of a truncated distribution."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class TruncatedSampling(AuditRule):
    """The sampler renormalised what top-p or top-k left, or the trainer cut off what was sampled.

    What: the sampler's log-probabilities are above the trainer's wherever they differ, by no more than the mass
    that top-p or top-k leaves out; or the trainer gives probability 0 to sampled tokens.

    Why it matters: the two distributions have different support. The ratio is below 1 on every uncertain token, or
    0.

    How to fix: sample with top-p 1 and no top-k, or mask the trainer's logits by the same kept tokens.
    """

    code = "TLA33"
    name = "truncated-sampling"
    severity = Severity.ERROR
    what = "the sampler's log-probabilities are those of a truncated distribution"
    remedy = "Sample with top_p=1 and top_k off, or apply the same truncation in the trainer."
