"""TL401: the template does not mark what the model wrote."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule


class NoGenerationMarkers(Rule):
    """The template does not mark what the model wrote.

    What: there is no ``{% generation %}`` in the template.

    Why it matters: ``return_assistant_tokens_mask`` gives zeros only (with a warning), so training on assistant tokens
    alone learns nothing or refuses to start.

    How to fix: put ``{% generation %}`` before what the model writes and ``{% endgeneration %}`` after the token that
    ends its turn. ``template-lint fix --markers`` does it and proves that prompts stay the same.
    """

    code = "TL401"
    name = "no-generation-markers"
    severity = Severity.INFO

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for the tag in the syntax tree."""
        if not facts.static.has_generation_tag:
            yield self.finding(
                facts,
                "no {% generation %} in the template: assistant masks are all zero",
                remedy="Try `template-lint fix --markers`.",
            )
