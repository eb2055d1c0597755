"""TL203: ``tools=`` is given and does nothing."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, CALL_NAME, SYSTEM
from template_lint.facts.variants import Conversation
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.places import printed_at


class ToolsIgnored(Rule):
    """Tool schemas are given, and the prompt does not name them.

    What: ``tools=`` holds a schema with a name that occurs nowhere else. It is not in the prompt, with or without a
    system message, and nothing is raised.

    Why it matters: the model is asked to call tools it has never heard of.

    How to fix: render ``tools`` where the model expects its tool list; or put the schemas into the system message.
    """

    code = "TL203"
    name = "tools-ignored"
    severity = Severity.WARNING
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for the schema's name, with and without a system message."""
        conversations = (Conversation([ASK]), Conversation([SYSTEM, ASK]))
        outcomes = [conversation.render(facts) for conversation in conversations]
        texts = [outcome.text for outcome in outcomes if outcome.text is not None]
        if not texts:
            raise Skip(f"no prompt with tools= renders: {outcomes[0].error}: {outcomes[0].message[:120]}")
        if not any(CALL_NAME in text for text in texts):
            yield self.finding(
                facts,
                f"tools= was given, but the tool {CALL_NAME!r} is not in the prompt",
                remedy=_remedy(facts),
            )
        elif len(texts) == 2 and CALL_NAME not in texts[0]:
            yield self.finding(
                facts,
                "tools= is rendered only beside a system message: without one the tool is not in the prompt",
                remedy="Always send a system message with this template, or render tools without one too.",
                place=printed_at(facts, conversations[1], texts[1].index(CALL_NAME)),
            )
        elif len(texts) == 2 and CALL_NAME not in texts[1]:
            yield self.finding(
                facts,
                "tools= is rendered only where there is no system message: with one the tool is not in the prompt",
                remedy="Put the schemas into the system message yourself, or render tools beside it.",
                place=printed_at(facts, conversations[0], texts[0].index(CALL_NAME)),
            )


def _remedy(facts: TemplateFacts) -> str:
    """Where the template reads schemas under a name of its own, that name."""
    other = next((name for name in facts.static.kwargs if name.endswith("tools")), None)
    if other is not None:
        return f"Pass the schemas as the template kwarg {other}, which the template reads instead."
    return "Render tools in the prompt, or put the schemas into the system message yourself."
