"""TL202: a tool message is neither rendered nor refused."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, RESULT
from template_lint.facts.variants import REPLY, Conversation
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class ToolResultDropped(Rule):
    """A tool message is neither rendered nor refused.

    What: a tool result with content that occurs nowhere else is appended to a call. The prompt does not contain it,
    and the template does not raise. A template that does not even show the user's words beside a reply, as those of
    judges, is not asked.

    Why it matters: the model never sees what the tool returned; the rollout goes on as if it had.

    How to fix: add a branch for the role ``tool``, or refuse it with ``raise_exception``.
    """

    code = "TL202"
    name = "tool-result-dropped"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for the probe's result."""
        probe = facts.tool_probe
        if probe.failed is not None:
            raise Skip(f"a tool conversation does not render: {probe.failed.error}: {probe.failed.message[:120]}")
        if not probe.result:
            if not _shows_questions(facts):
                raise Skip("no prompt of the template shows a plain question: it does not print conversations")
            yield self.finding(
                facts,
                f"the tool result {RESULT!r} is not in the prompt, and no error is raised",
                remedy="Render messages with role 'tool', or refuse them with raise_exception.",
                evidence={"name": probe.call_name, "arguments": probe.arguments, "result": probe.result},
            )


def _shows_questions(facts: TemplateFacts) -> bool:
    """Whether a question is in a prompt that goes on after it: a judge's template prints what it judges."""
    text = Conversation([ASK, REPLY, ASK], tools=False).render(facts).text
    return text is None or ASK["content"] in text
