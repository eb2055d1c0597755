"""TLA35: sampler and trainer differ by rounding."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class PrecisionNoise(AuditRule):
    """Sampler and trainer differ by rounding.

    What: differences are a few hundredths of a nat at most, to both sides, and larger for less likely tokens.

    Why it matters: kernels, batch sizes and number formats differ between inference engines and trainers; bfloat16
    keeps eight bits. It is the floor under every importance ratio. For mixtures of experts it can be much larger,
    because routing flips.

    How to fix: nothing, if clipping is rare. Otherwise compute the last layer and the log-softmax in float32 on
    both sides, or correct by truncated importance sampling.
    """

    code = "TLA35"
    name = "precision-noise"
    severity = Severity.INFO
    what = "sampler and trainer differ by rounding"
    remedy = "Nothing to do while few ratios leave the clip range; else log-softmax in float32 on both sides."
