"""TLA32: another temperature explains the difference."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule, Seen, share


class TemperatureMismatch(AuditRule):
    """Sampler and trainer used different temperatures.

    What: with the temperature fitted to the recorded most likely tokens, one side's log-probabilities give the
    other side's; without it they do not.

    Why it matters: the sampler drew from softmax(z / T), and the trainer scored softmax(z). The ratio is not 1 even
    before the first update, and its bias grows along the sequence.

    How to fix: divide the trainer's logits by the sampler's temperature before the log-softmax, or let the engine
    report log-probabilities after temperature and sample at 1.
    """

    code = "TLA32"
    name = "temperature-mismatch"
    severity = Severity.ERROR
    what = "another temperature explains the difference"
    remedy = "Divide the trainer's logits by the sampler's temperature."

    def describe(self, seen: Seen) -> str:
        """Say the fitted temperature."""
        fitted = "" if seen.middle is None else f" (median {seen.middle:.3g})"
        return f"{share(seen)}: {self.what}{fitted}. First: {seen.first}"

    def advise(self, seen: Seen) -> str:
        """Name it here too."""
        fitted = "the sampler's temperature" if seen.middle is None else f"{seen.middle:.3g}"
        return f"Divide the trainer's logits by {fitted} before the log-softmax, or sample at 1."
