"""One small tool conversation whose every value is a word that occurs nowhere else: what is in the prompt, and what is
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from template_lint.facts.renders import Renders
    from template_lint.facts.shapes import Shape
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
        "parameters": {
            "type": "object",
            "properties": {"zqkey": {"type": "string", "description": "zqparameter"}},
            "required": ["zqkey"],
        },
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


def tool_probe(renders: Renders, shape: Shape) -> ToolProbe:
    """Render the probe in one shape, with ``tools=`` or, where that does not render, without."""
    messages = [ASK, *shape.apply([CALL]), TOOL_RESULT]
    nameless = {key: value for key, value in TOOL_RESULT.items() if key != "name"}
    # Some templates print a call only once its result follows.
    histories = (messages[:2], [*messages[:2], nameless])
    named = any(_names_the_call(renders, history, tools) for history in histories for tools in ([TOOL], None))
    full = renders.render(messages, tools=[TOOL], generation_prompt=True)
    if full.text is None:
        full = renders.render(messages, generation_prompt=True)
    if full.text is None:
        return ToolProbe(full)
    return ToolProbe(None, named, ARGUMENT in full.text, RESULT in full.text, CALL_ID in full.text)


def _names_the_call(renders: Renders, answered: list[Any], tools: list[Any] | None) -> bool:
    """Whether the call adds its name: a schema, or later a result, may name the function too."""
    with_call, without = renders.render(answered, tools=tools).text, renders.render([ASK], tools=tools).text
    return with_call is not None and with_call.count(CALL_NAME) > (without or "").count(CALL_NAME)
