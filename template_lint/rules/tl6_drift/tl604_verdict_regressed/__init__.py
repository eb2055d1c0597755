"""TL604: a property that held at the pin no longer holds."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class VerdictRegressed(Rule):
    """A property that held at the pin no longer holds.

    What: the verdict is worse than at the pin, a kind of message that kept the prefix no longer does, something that
    was in the prompt (tool calls, results, reasoning, ...) no longer is, or a rule finds an error that was not there.

    Why it matters: a loop that was right with the old files goes wrong with the new ones, and nothing fails.

    How to fix: keep the pin. `template-lint check MODEL` shows the line that does it; `template-lint fix MODEL` shows a
    repair, or the training template that fits.
    """

    code = "TL604"
    name = "verdict-regressed"
    severity = Severity.ERROR
    stage = "drift"
    needs = ()
