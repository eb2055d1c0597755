"""TLA31: sampler and trainer agree only up to where re-encoding changes the tokens."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class DriftInScores(AuditRule):
    """The trainer scored re-encoded tokens.

    What: sampler and trainer agree up to the first token that re-encoding changes, and disagree from there on. Or
    they agree up to one token, and from there on only with one list moved by a few tokens: the buffer was encoded
    again, and the sampler's log-probabilities are still those of the sampled tokens.

    Why it matters: the trainer's log-probabilities belong to other tokens than those that were sampled. The
    importance ratios behind that point are noise with a large variance.

    How to fix: hand the recorded ids to the trainer. No part of the buffer may pass through text.
    """

    code = "TLA31"
    name = "drift-in-scores"
    severity = Severity.ERROR
    what = "sampler and trainer agree only up to where re-encoding changes the tokens"
    remedy = "Record and score the sampled ids; do not encode the text again."
