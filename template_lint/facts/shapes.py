"""The legal shapes one message can take, and finding one that a template accepts.

OpenAI-compatible servers send arguments as a JSON string and a null content; transformers users pass a mapping and an
empty string. A template that refuses one shape is probed with the next, as TRL does for arguments.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """``arguments`` is ``mapping`` or ``string``; ``empty`` says how an empty content beside a call is written."""

    arguments: str = "mapping"
    empty: str = "string"

    def describe(self) -> str:
        """In words, for messages."""
        arguments = "arguments as a mapping" if self.arguments == "mapping" else "arguments as a JSON string"
        return f"{arguments}, {'empty content' if self.empty == 'string' else 'no content key'}"

    def apply(self, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The messages in this shape. Messages without tool calls are untouched and shared."""
        if self == Shape():
            return list(messages)
        return [self._message(message) if message.get("tool_calls") else message for message in messages]

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        shaped = dict(message)
        if self.empty == "absent" and shaped.get("content") == "":
            del shaped["content"]
        if self.arguments == "string":
            shaped["tool_calls"] = [_with_string_arguments(call) for call in message["tool_calls"]]
        return shaped


def _with_string_arguments(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, dict) or isinstance(function.get("arguments"), str):
        return call
    arguments = json.dumps(function.get("arguments"), ensure_ascii=False)
    return {**call, "function": {**function, "arguments": arguments}}


SHAPES = (Shape(), Shape("string", "string"), Shape("mapping", "absent"), Shape("string", "absent"))
"""In the order of probing."""
