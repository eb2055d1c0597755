"""TL107: the delta depends on the tool's name or the call's id."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.delta import PLACEHOLDER_ID, PLACEHOLDER_NAME, dummy_delta
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten
from template_lint.scenarios.catalogue import load_catalogue


class DeltaNeedsIdentity(Rule):
    """The text that a tool result adds contains the tool's name or the call's id.

    What: the delta of one tool result, with its real name and id and with placeholders. They differ beyond doubt, so a
    delta computed with a placeholder is wrong.

    Why it matters: trainers that compute the delta once, with a dummy name, put a wrong header before every result.

    How to fix: nothing in the template; pass the real name and id of every tool message when you compute the delta.
    """

    code = "TL107"
    name = "delta-needs-identity"
    severity = Severity.INFO
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Replace the name, then the id, by a placeholder."""
        results = load_catalogue()[0].messages[2:3]
        real = dummy_delta(facts, results, {})
        if real is None:
            raise Skip("the delta is not defined: no tool prefix holds on the dummy conversation")
        renamed = dummy_delta(facts, results, {}, name=PLACEHOLDER_NAME)
        reidentified = dummy_delta(facts, results, {}, call_id=PLACEHOLDER_ID)
        parts = [word for word, other in (("name", renamed), ("call id", reidentified)) if other not in (None, real)]
        if parts:
            yield self.finding(
                facts,
                f"the delta of a tool result contains the tool's {' and the '.join(parts)}: "
                f"{shorten(real, 40)} is wrong with a placeholder",
                remedy="Compute the delta with the real name and id of every tool message.",
                scenario="one-call",
                evidence={"delta": real, "depends_on": parts},
            )
