"""TL503: a condition tests the text of a message against a literal."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rendering.positions import offset_of, walk
from template_lint.rules.base import Rule, Skip
from template_lint.rules.tl5_safety.tl503_content_trigger.comparisons import Comparison, content_comparisons
from template_lint.rules.tl5_safety.tl503_content_trigger.legitimate import Legitimate
from template_lint.rules.wording import listed, shorten


class ContentTrigger(Rule):
    """A condition tests the text of a message against a literal.

    What: ``'...' in message.content``, ``==``, ``startswith``, ``find``, a lookup in a mapping, with the literal also
    assembled from constants. Not counted: white space and punctuation, markers of turns and of thinking (``</think>``,
    ``<tool_response>``), the switches ``/think`` and ``/no_think``, names of parts (``'image' in part``).

    Why it matters: such a template says something else to the model as soon as a word is in the conversation. This is
    the form of a backdoor that works at inference time, invisible in weights and in ordinary tests; and in a tool loop
    a tool result may contain the word by chance.

    How to fix: decide by fields of the message or by a template kwarg, not by the words of the user.
    """

    code = "TL503"
    name = "content-trigger"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per template; it lists each literal with its first line."""
        legitimate = Legitimate(facts)
        first: dict[str, Comparison] = {}
        for comparison in sorted(content_comparisons(facts), key=_offset):
            if comparison.literal not in first and not legitimate.allows(comparison):
                first[comparison.literal] = comparison
        if not first:
            if not facts.is_followed:
                raise Skip("the names of the template take too many steps to follow (TL501)")
            return
        source = facts.template.source_map
        lines = {literal: source.line_column(_offset(comparison))[0] for literal, comparison in first.items()}
        shown = [f"{shorten(literal)} (line {line})" for literal, line in lines.items()]
        verb = "is" if next(iter(first.values())).whole else "has"
        yield self.finding(
            facts,
            f"what is printed depends on whether the text of a message {verb} {listed(shown)}",
            remedy="Decide by a field of the message or a template kwarg; be wary if the template is not yours.",
            place=source.place(*source.expression_range(next(iter(first.values())).node)),
            evidence={"literals": [{"text": literal, "line": line} for literal, line in lines.items()]},
        )


def _offset(comparison: Comparison) -> int:
    offsets = [offset for node in walk(comparison.node) if (offset := offset_of(node)) >= 0]
    return min(offsets, default=0)
