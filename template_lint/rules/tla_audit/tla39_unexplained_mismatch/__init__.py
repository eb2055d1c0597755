"""TLA39: sampler and trainer disagree for no known reason."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule, Seen

_GRAVE = 0.1
"""Mean |trainer - sampler| in nats."""


class UnexplainedMismatch(AuditRule):
    """Sampler and trainer disagree, and no known cause fits.

    What: the mean difference is above 0.003 nat, or one token differs by 0.1 and more, and none of TLA31 to TLA38
    explains it. An error where the mean difference is 0.1 nat and more in half of these trajectories, else a warning.

    Why it matters: before the first update both are the same model. Different weights (a late sync, a LoRA not
    merged, other quantisation), a different prompt or attention mask, or a temperature that cannot be told without
    distributions.

    How to fix: look at the worst trajectories in the report. Record the sampler's most likely tokens (field
    ``top_logprobs``), so that a temperature can be told.
    """

    code = "TLA39"
    name = "unexplained-mismatch"
    severity = Severity.WARNING
    what = "sampler and trainer disagree for no known reason"
    remedy = "Compare weights and attention masks; record top-k log-probabilities so that a temperature can be told."

    def weigh(self, seen: Seen) -> Severity:
        """An error where a ratio is a tenth off at the usual token."""
        return Severity.ERROR if seen.middle is not None and seen.middle >= _GRAVE else self.severity

    def advise(self, seen: Seen) -> str:
        """Where it looks like a temperature, say what would prove it."""
        tempered = seen.variants.get("temperature?", 0)
        if not tempered:
            return self.remedy
        return (
            f"In {tempered:,} of them it grows with surprisal, to both sides, as another temperature would have it: "
            "needs top-k log-probabilities (field top_logprobs) to be told. Else compare weights and attention masks."
        )
