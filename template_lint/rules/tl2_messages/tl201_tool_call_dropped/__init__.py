"""TL201: a call in history is not in the prompt although its result is."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ARGUMENT, CALL_NAME
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class ToolCallDropped(Rule):
    """A tool call in history is not in the prompt, although its result is.

    What: a call with a name and an argument that occur nowhere else is rendered together with its result. The result is
    in the prompt; the name, or the argument, is not.

    Why it matters: the model reads an answer to a question it never asked. Prefix checks pass on such a template, because
    nothing that is not printed can change.

    How to fix: render ``message.tool_calls`` in the assistant branch, in the format the model was trained on.
    """

    code = "TL201"
    name = "tool-call-dropped"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for the probe's words."""
        probe = facts.tool_probe
        if probe.failed is not None:
            raise Skip(f"a tool conversation does not render: {probe.failed.error}: {probe.failed.message[:120]}")
        if not probe.result:
            return
        missing = [
            word
            for word, there in ((f"the name {CALL_NAME!r}", probe.call_name), (f"the argument {ARGUMENT!r}", probe.arguments))
            if not there
        ]
        if missing:
            yield self.finding(
                facts,
                f"the result of a call is in the prompt, but not {' and not '.join(missing)} of the call itself",
                remedy="Render message.tool_calls in the assistant's turn.",
                evidence={"name": probe.call_name, "arguments": probe.arguments, "result": probe.result},
            )
