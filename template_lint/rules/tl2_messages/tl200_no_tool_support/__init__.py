"""TL200: the template does not know tools."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule


class NoToolSupport(Rule):
    """The template reads neither ``tools`` nor ``tool_calls``.

    What: no part of the template mentions tools. The tool rules are skipped; with ``--require tools`` this is an error
    and they are asked all the same.

    Why it matters: tool schemas and calls passed to this template vanish without a word.

    How to fix: nothing, if the model was not trained with tools; else take the template of a tool-trained relative.
    """

    code = "TL200"
    name = "no-tool-support"
    severity = Severity.INFO

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look at the names the template reads."""
        if not facts.static.reads_tools:
            yield self.finding(
                facts,
                "the template reads neither tools nor tool_calls",
                remedy="Do not run tool loops with it; or use a template of the family that supports them.",
                severity=Severity.ERROR if facts.force_tools else None,
            )
