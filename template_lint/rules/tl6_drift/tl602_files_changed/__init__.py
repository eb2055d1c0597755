"""TL602: files changed, prompts did not."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class FilesChanged(Rule):
    """A file that shapes prompts changed, the prompts did not.

    What: a template, a tokenizer file or a configuration has other bytes. Every conversation of the catalogue, in every
    legal form and with every thinking switch, still gives the same text and the same token ids, and so do the probe
    texts.

    Why it matters: what was compared is the same, which a run may rely on; what was not compared may differ. The report
    says what else changed: how ids are decoded, which tokens are special, where generation stops.

    How to fix: read the difference, then accept it with `template-lint lock --upgrade MODEL`.
    """

    code = "TL602"
    name = "files-changed"
    severity = Severity.WARNING
    stage = "drift"
    needs = ()
