"""TL901: a suppression that hides nothing, or that cannot be understood."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class UnusedIgnore(Rule):
    """A suppression hides nothing, or is written wrongly and is not honoured.

    What: a comment `{# template-lint: ignore[TL101] reason #}` or `{# template-lint: ignore-file[TL101] reason #}`
    whose rule was asked and has no finding there; one without a rule or a reason, with an unknown rule, in another
    spelling, or on a line with something else. Also an `ignore` of the configuration that matches nothing.

    Why it matters: an ignore that is left behind hides the next finding of its rule, which nobody has looked at. One
    that is misspelled hides nothing, while its reader thinks it does.

    How to fix: remove what is no longer needed. Else write the comment on a line of its own, with the codes of the
    rules in brackets and the reason behind them. `ignore` holds for the next line of template (a tag over several
    lines counts as one) and for findings without a place; `ignore-file` for the whole template.
    """

    code = "TL901"
    name = "unused-ignore"
    severity = Severity.WARNING
    stage = "curation"
    needs = ()
