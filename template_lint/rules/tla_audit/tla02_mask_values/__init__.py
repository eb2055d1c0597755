"""TLA02: the mask holds values that are neither 0 nor 1."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class MaskValues(AuditRule):
    """A loss mask holds something else than 0 and 1.

    What: every entry of the mask is 0 (given to the model) or 1 (sampled by it).

    Why it matters: a mask is multiplied with the loss: a 2 counts a token twice, a fraction or NaN weighs it by
    accident. Weights belong into a list of their own.

    How to fix: write 0 and 1 only.
    """

    code = "TLA02"
    name = "mask-values"
    severity = Severity.ERROR
    what = "the mask holds values that are neither 0 nor 1"
    remedy = "Write 1 for sampled tokens and 0 for all others."
