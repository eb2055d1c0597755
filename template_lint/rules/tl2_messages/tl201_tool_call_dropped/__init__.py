"""TL201: a call in history is not in the prompt although its result is."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.parallel import SECOND_ARGUMENT, second_call_is_lost
from template_lint.facts.probes import ARGUMENT, CALL_NAME, ToolProbe
from template_lint.facts.shapes import Shape
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.places import field_place


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
            yield self._dropped(facts, dropped, everywhere=len(dropped) == len(probes))
        elif facts.tool_probe.result and not facts.tool_probe.call_name:
            by_id = facts.tool_probe.call_id
            yield self.finding(
                facts,
                f"the call is in the prompt without the name of its function: {CALL_NAME!r} is missing there"
                + (", only the call's id is printed" if by_id else ""),
                remedy="Send ids that carry the name, as the model writes them, for example functions.NAME:INDEX."
                if by_id
                else "Render the function's name beside its arguments.",
                place=field_place(facts, "arguments", "tool_calls"),
                severity=Severity.WARNING if by_id else None,
                evidence={"shapes": [facts.shape.describe()], "name": False},
            )
        elif second_call_is_lost(facts):
            yield self.finding(
                facts,
                "of two calls in one turn the second is not in the prompt, though its result is:"
                f" {SECOND_ARGUMENT!r} is missing",
                remedy="Loop over message.tool_calls, or refuse more than one with raise_exception.",
                place=field_place(facts, "tool_calls"),
                evidence={"shapes": [facts.shape.describe()], "calls": 2},
            )

    def _dropped(self, facts: TemplateFacts, dropped: dict[Shape, ToolProbe], *, everywhere: bool) -> Finding:
        shape, probe = next(iter(dropped.items()))
        place = field_place(facts, "tool_calls")
        if not everywhere and all(shape.arguments == "string" for shape in dropped):
            what, where = (
                "its arguments are not" if probe.call_name else "the call is not",
                " when arguments come as a JSON string",
            )
            remedy = "Print arguments as they are where they are a string, and with tojson where they are a mapping."
            place = field_place(facts, "arguments") or place
        elif place is None:
            what, where = "the call itself is not", ", because the template does not read tool_calls"
            remedy = (
                "Render message.tool_calls; until then write the call into content, as the model was trained on it."
            )
        else:
            what = "the arguments of the call are not" if probe.call_name else "the call itself is not"
            where = "" if everywhere else f", with {shape.describe()}"
            remedy = "Render message.tool_calls in the assistant's turn, whatever its content is."
        return self.finding(
            facts,
            f"the result of a call is in the prompt, {what}{where}: {ARGUMENT!r} is missing",
            remedy=remedy,
            place=place,
            evidence={"shapes": [shape.describe() for shape in dropped], "name": probe.call_name},
        )
