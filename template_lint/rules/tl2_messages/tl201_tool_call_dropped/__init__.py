"""TL201: a call in history is not in the prompt although its result is."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.parallel import SECOND_ARGUMENT, second_call_is_lost
from template_lint.facts.probes import ARGUMENT, CALL_NAME
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class ToolCallDropped(Rule):
    """A tool call in history is not in the prompt, although its result is.

    What: a call with a name and an argument that occur nowhere else is rendered together with its result. The result
    is in the prompt; the name, or the argument, is not. Then two calls in one turn: both results are in the prompt, and
    one of the calls only.

    Why it matters: the model reads an answer to a question it never asked. Prefix checks pass on such a template,
    because nothing that is not printed can change.

    How to fix: render ``message.tool_calls`` in the assistant branch, in the format the model was trained on.
    """

    code = "TL201"
    name = "tool-call-dropped"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for the probe's words."""
        probes = {shape: probe for shape, probe in facts.tool_probes.items() if probe.failed is None}
        if not probes:
            failed = facts.tool_probe.failed
            assert failed is not None
            raise Skip(f"a tool conversation does not render: {failed.error}: {failed.message[:120]}")
        dropped = {shape: probe for shape, probe in probes.items() if probe.result and not probe.arguments}
        if dropped:
            shape, probe = next(iter(dropped.items()))
            where = "" if len(dropped) == len(probes) else f" with {shape.describe()}"
            what = "the arguments of the call are not" if probe.call_name else "the call itself is not"
            yield self.finding(
                facts,
                f"the result of a call is in the prompt, {what}{where}: {ARGUMENT!r} is missing",
                remedy="Render message.tool_calls in the assistant's turn, whatever its content is.",
                evidence={"shapes": [shape.describe() for shape in dropped], "name": probe.call_name},
            )
        elif facts.tool_probe.result and not facts.tool_probe.call_name:
            by_id = facts.tool_probe.call_id
            yield self.finding(
                facts,
                f"the name of the called function is not in the prompt: {CALL_NAME!r} is missing"
                + (", only the call's id is printed" if by_id else ""),
                remedy="Send ids that carry the name, as the model writes them, for example functions.NAME:INDEX."
                if by_id
                else "Render the function's name beside its arguments.",
                severity=Severity.WARNING if by_id else None,
                evidence={"shapes": [facts.shape.describe()], "name": False},
            )
        elif second_call_is_lost(facts):
            yield self.finding(
                facts,
                "of two calls in one turn the second is not in the prompt, though its result is:"
                f" {SECOND_ARGUMENT!r} is missing",
                remedy="Loop over message.tool_calls, or refuse more than one with raise_exception.",
                evidence={"shapes": [facts.shape.describe()], "calls": 2},
            )
