"""TLA20: would not survive decode and encode."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class ReencodingDrift(AuditRule):
    """A buffer changes when it is decoded and encoded again.

    What: each buffer is decoded and encoded. CLEAN: the same ids come back. REALIGN: only tokens of the last
    sampled turn changed. FORK: anything else.

    Why it matters: models sample other segmentations than the tokenizer's own, so this is normal and no defect of
    the buffer. It becomes one in every pipeline that keeps text and encodes it again: there these trajectories
    train on tokens that were not sampled, and where the number of tokens stays the same nothing shows it.

    How to fix: keep the ids. If anything between sampler and loss goes through text, these are the rows that it
    damages.
    """

    code = "TLA20"
    name = "reencoding-drift"
    severity = Severity.INFO
    what = "would not survive decode and encode"
    remedy = "Pass ids, not text, from sampler to trainer."
