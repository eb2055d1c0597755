"""TL211: roles and orders that the template refuses."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, CALL, SYSTEM, TOOL_RESULT
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule


class RoleRefused(Rule):
    """The template refuses a role or an order of roles with ``raise_exception``.

    What: a system message, a developer message, a later system message, a tool result, two user messages in a row. A
    clear refusal is a documented limit of the model.

    Why it matters: an agent framework must know it before the run; here it also says which scenarios could not be
    asked.

    How to fix: nothing in the template; do not send what the model was not trained on.
    """

    code = "TL211"
    name = "role-refused"
    severity = Severity.INFO

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try each role where it usually stands."""
        reply = {"role": "assistant", "content": "zqreply"}
        cases = [
            ("a system message", [SYSTEM, ASK]),
            ("a developer message", [{**SYSTEM, "role": "developer"}, ASK]),
            ("a system message after the first exchange", [ASK, reply, SYSTEM, ASK]),
            ("two user messages in a row", [ASK, ASK]),
        ]
        if facts.tool_rules_apply:
            cases.append(("a tool result", [ASK, *facts.shape.apply([CALL]), TOOL_RESULT]))
        refused = []
        for title, messages in cases:
            outcome = facts.render(messages, generation_prompt=True)
            if outcome.refused:
                refused.append((title, outcome.message))
        if refused:
            yield self.finding(
                facts,
                f"refuses {', '.join(title for title, _ in refused)}: {refused[0][1][:100]}",
                remedy="Do not send these to the model.",
                evidence={"refused": [title for title, _ in refused]},
            )
