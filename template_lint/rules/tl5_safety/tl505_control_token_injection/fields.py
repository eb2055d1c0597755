"""The fields of a conversation into which somebody else may write, each filled with a text of our choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, CALL, SYSTEM, TOOL, TOOL_RESULT

Messages = list[dict[str, Any]]
Tools = list[dict[str, Any]] | None


class Field(NamedTuple):
    """``fill`` gives messages and tools with a text in this field. ``key`` says that it is the key of a mapping, which
    transformers does not sanitise.
    """

    title: str
    fill: Callable[[str], tuple[Messages, Tools]]
    key: bool = False
    tools: bool = True


def fields(facts: TemplateFacts) -> list[Field]:
    """All fields that the template may print; those of tools only where it knows tools."""
    (call,) = facts.shape.apply([CALL])
    reply = {"role": "assistant", "content": "zqreply"}
    # In a JSON string, names are text like any other.
    keys = facts.shape.arguments == "mapping"

    def called(text: str, arguments: dict[str, Any]) -> tuple[Messages, Tools]:
        function = {"name": text or "zqfunction", "arguments": arguments}
        calls = [{**CALL["tool_calls"][0], "function": function}]
        (message,) = facts.shape.apply([{**CALL, "tool_calls": calls}])
        return [ASK, message, TOOL_RESULT], [TOOL]

    def described(**changes: Any) -> tuple[Messages, Tools]:
        return [ASK], [{**TOOL, "function": {**TOOL["function"], **changes}}]

    def parameter(name: str, **schema: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {name: {"type": "string", **schema}}}

    found = [
        Field("user text", lambda text: ([{**ASK, "content": text}], None), tools=False),
        Field("system text", lambda text: ([{**SYSTEM, "content": text}, ASK], None), tools=False),
        Field("assistant text", lambda text: ([ASK, {**reply, "content": text}, ASK], None), tools=False),
        Field("reasoning", lambda text: ([ASK, {**reply, "reasoning_content": text}], None), tools=False),
        Field("tool results", lambda text: ([ASK, call, {**TOOL_RESULT, "content": text}], [TOOL])),
        Field("call arguments", lambda text: called("", {"zqkey": text})),
        Field("names of call arguments", lambda text: called("", {text: "zqargument"}), key=keys),
        Field("names of called tools", lambda text: called(text, {"zqkey": "zqargument"})),
        Field("tool names", lambda text: described(name=text)),
        Field("tool descriptions", lambda text: described(description=text)),
        Field("parameter names", lambda text: described(parameters=parameter(text)), key=True),
        Field("parameter descriptions", lambda text: described(parameters=parameter("zqkey", description=text))),
    ]
    return [field for field in found if facts.tool_rules_apply or not field.tools]
