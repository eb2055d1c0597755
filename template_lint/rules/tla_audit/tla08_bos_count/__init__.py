"""TLA08: the number of BOS tokens is not what the template writes."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class BosCount(AuditRule):
    """A buffer has too many or too few BOS tokens.

    What: a buffer has the BOS token as often as a prompt that the template renders, and begins with it where the
    template writes it first.

    Why it matters: a second BOS is added when a rendered prompt is encoded with special tokens once more; without
    one, the model sees a beginning it was never trained on. Both lower quality quietly.

    How to fix: encode rendered prompts with ``add_special_tokens=False``. BOS in the middle of a buffer means that
    two trajectories were joined.
    """

    code = "TLA08"
    name = "bos-count"
    severity = Severity.ERROR
    what = "the number of BOS tokens is not what the template writes"
    remedy = "Encode the rendered prompt with add_special_tokens=False."
