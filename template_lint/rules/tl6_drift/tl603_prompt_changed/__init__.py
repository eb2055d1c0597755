"""TL603: the same conversation reads differently."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class PromptChanged(Rule):
    """The same conversation renders or tokenises differently from the pin.

    What: a conversation of the catalogue (in any legal form, with any thinking switch) gives another text or other
    token ids than at the pin, or one of the two raises; or a probe text gives other ids.

    Why it matters: a policy that was trained on the old prompts reads others. A buffer of token ids that was begun with
    the old files is not continued by deltas of the new ones.

    How to fix: keep the pinned revision for runs that have begun. For new runs read the difference, then accept it
    with `template-lint lock --upgrade MODEL`.
    """

    code = "TL603"
    name = "prompt-changed"
    severity = Severity.ERROR
    stage = "drift"
    needs = ()
