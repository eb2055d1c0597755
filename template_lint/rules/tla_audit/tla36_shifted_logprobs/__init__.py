"""TLA36: shifted by one token, sampler and trainer agree."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class ShiftedLogprobs(AuditRule):
    """Log-probabilities are off by one token.

    What: sampler and trainer disagree token by token, and agree once one list is shifted by one.

    Why it matters: logits at position j predict token j + 1. Taking them for token j scores every token by its
    neighbour's probability.

    How to fix: log p of ids[j] comes from the logits at j - 1. Check where the prompt's last logits go, and whether
    a leading entry was dropped.
    """

    code = "TLA36"
    name = "shifted-logprobs"
    severity = Severity.ERROR
    what = "shifted by one token, sampler and trainer agree"
    remedy = "Align the lists: log p(ids[j]) comes from the logits at position j - 1."
