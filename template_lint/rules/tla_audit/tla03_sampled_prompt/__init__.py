"""TLA03: mask 1 begins inside the prompt."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class SampledPrompt(AuditRule):
    """Tokens of the prompt have mask 1.

    What: the first sampled token stands behind the prompt.

    Why it matters: the model is trained to produce the prompt, with log-probabilities that nobody sampled. Often it
    is the generation prompt that is counted as the model's.

    How to fix: begin the mask where the prompt ends, generation prompt included. If the prompt's length is recorded
    wrongly, correct that.
    """

    code = "TLA03"
    name = "sampled-prompt"
    severity = Severity.ERROR
    what = "mask 1 begins inside the prompt"
    remedy = "Set the mask to 0 up to the end of the generation prompt."
