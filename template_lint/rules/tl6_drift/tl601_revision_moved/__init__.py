"""TL601: the Hub moved on, and nothing that shapes prompts changed."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class RevisionMoved(Rule):
    """The revision moved on, no file that shapes prompts changed.

    What: the branch or tag that was pinned names another commit now. Every file from which prompts and token ids are
    made (templates, tokenizer files, their configurations) is the same, byte for byte.

    Why it matters: it does not, for prompts. Weights or a README may have changed.

    How to fix: nothing has to be done. `template-lint lock --upgrade MODEL` moves the pin.
    """

    code = "TL601"
    name = "revision-moved"
    severity = Severity.INFO
    stage = "drift"
    needs = ()
