"""TLA34: all log-probabilities are 0."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class GreedyData(AuditRule):
    """Every log-probability of the sampler is 0.

    What: all sampled tokens of a trajectory have log-probability 0, which is probability 1.

    Why it matters: either the rollouts were sampled at temperature 0, where engines report 0 and there is nothing
    to explore, or log-probabilities were never recorded and 0 was filled in.

    How to fix: sample at temperature 1 and ask the engine for log-probabilities.
    """

    code = "TLA34"
    name = "greedy-data"
    severity = Severity.ERROR
    what = "all log-probabilities are 0"
    remedy = "Sample at temperature 1 with log-probabilities switched on."
