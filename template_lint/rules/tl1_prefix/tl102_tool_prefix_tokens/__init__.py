"""TL102: the text prefix holds, the token ids do not."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.divergence import require_answers
from template_lint.rules.tokens import token_findings


class ToolPrefixTokens(Rule):
    """The text before a tool result is kept, its token ids are not.

    What: where TL101 holds, both texts are tokenised. The ids of the earlier one must be a prefix of the ids of the
    later one. They are not when a token reaches across the border, for example a newline that merges with the next
    one.

    Why it matters: the buffer of sampled ids no longer matches a render of the conversation, though the texts look
    alike.

    How to fix: end the turn with a special token, which never merges, before any white space.
    """

    code = "TL102"
    name = "tool-prefix-tokens"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Tokenise both sides of every tool question whose text holds."""
        asked = [question for question in require_answers(facts, Appended.TOOL) if question.holds]
        yield from token_findings(
            self,
            facts,
            asked,
            what="the text before the tool result is kept, its ids are not",
            remedy="End the turn with a special token before any white space, so that no token crosses the border.",
        )
