"""One small tool conversation whose every value is a word that occurs nowhere else: what is in the prompt, and what
is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from template_lint.facts.shapes import Shape
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.rendering.template import Outcome

CALL_NAME = "zqfunction"
ARGUMENT = "zqargument"
RESULT = "zqresult"
CALL_ID = "zqcall001"

ASK: dict[str, Any] = {"role": "user", "content": "zqquestion"}
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": CALL_ID, "type": "function", "function": {"name": CALL_NAME, "arguments": {"zqkey": ARGUMENT}}}
    ],
}
TOOL_RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": CALL_ID, "name": CALL_NAME, "content": RESULT}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": CALL_NAME,
        "description": "zqdescription",
        "parameters": {"type": "object", "properties": {"zqkey": {"type": "string", "description": "zqparameter"}}},
    },
}
SYSTEM: dict[str, Any] = {"role": "system", "content": "zqsystem"}


class ToolProbe(NamedTuple):
    """The probe with ``tools=``: the prompt, the same without the call and its result, and what of the call is there.

    ``failed`` holds the outcome where the probe does not render.
    """

    failed: Outcome | None
    call_name: bool = False
    arguments: bool = False
    result: bool = False
    call_id: bool = False


def tool_probe(facts: TemplateFacts, shape: Shape) -> ToolProbe:
    """Render the probe in one shape, with ``tools=`` or, where that does not render, without."""
    messages = [ASK, *shape.apply([CALL]), TOOL_RESULT]
    tools: list[Any] | None
    for tools in ([TOOL], None):
        full = facts.render(messages, tools=tools, generation_prompt=True)
        if full.text is None:
            continue
        bare = facts.render([ASK], tools=tools, generation_prompt=True).text or ""
        # A result may name its tool too, so the name must be there once more than results and schemas explain.
        answered = facts.render([*messages[:2]], tools=tools).text
        named = (answered if answered is not None else full.text).count(CALL_NAME) > bare.count(CALL_NAME)
        return ToolProbe(None, named, ARGUMENT in full.text, RESULT in full.text, CALL_ID in full.text)
    return ToolProbe(full)
