"""TL101: appending tool results rewrites earlier text."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.divergences import Divergence
from template_lint.facts.prefix import Appended
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import prefix_findings
from template_lint.scenarios.model import strings_of


class ToolPrefix(Rule):
    """Appending a tool result rewrites text that was already rendered.

    What: the conversation up to the assistant's call is rendered, then the same conversation with the tool results and
    the generation prompt. The first must be a prefix of the second. Asked for empty and non-empty content, with and
    without reasoning, one and parallel calls, one to three rounds, with and without ``tools=``, with and without a
    system message, and for each thinking switch the template reads. A template that reads no reasoning field and looks
    for a tag such as ``</think>`` in contents gets the reasoning there, as its model writes it. The usual cause is a
    look ahead: ``loop.last``, ``messages[-1]``, the index of the last user message.

    Why it matters: the ids that a tool result adds are computed as the difference of two renders. If the first is no
    prefix of the second, the difference is meaningless; if the trainer renders the whole conversation again, it scores
    text that the policy never wrote.

    How to fix: make the text of a message depend on that message and those before it. The finding names the condition
    and the outcome the model saw.
    """

    code = "TL101"
    name = "tool-prefix"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask every tool question."""
        yield from prefix_findings(self, facts, Appended.TOOL, what=_what)


def _what(divergence: Divergence) -> str:
    """Where the renders part: in the turn of the call, or before the end of a text that was said earlier."""
    question = divergence.question
    *before, call = question.scenario.messages[: question.earlier]
    rest = (question.earlier_outcome.text or "")[divergence.offset :]
    said = set(strings_of(before)) - set(strings_of([call]))
    earlier = any(text in rest for text in said)
    return f"appending a tool result rewrites {'a turn before the call' if earlier else 'the turn before it'}"
