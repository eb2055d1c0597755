"""Conversations for the parity tests: every shape that a template can see differently."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """One call of apply_chat_template, without the template."""

    name: str
    messages: list[Any]
    tools: list[Any] | None = None
    kwargs: dict[str, Any] = {}
    generation_prompt: bool = False
    continue_final: bool = False


def call(arguments: Any, name: str = "get_tide", id: str = "call00001") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"port": {"type": "string", "description": "A <port> & 'more'"}}}
    return {"type": "function", "function": {"name": name, "description": "Tide é", "parameters": schema}}


TOOLS = [tool("get_tide"), tool("get_wind")]
USER = {"role": "user", "content": "When is high water?"}
SYSTEM = {"role": "system", "content": "You know the sea."}
REPLY = {"role": "assistant", "content": "At noon."}
CALL = {"role": "assistant", "content": "", "tool_calls": [call({"port": "Vlissingen"})]}
RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "get_tide", "content": "12:04 ☕ <ok>"}
HARD = {"a": "é\n\"'<&>", "b": None, "c": True, "d": 1.0, "e": [1, {"f": []}], "g": 1e-7}

CASES = [
    Case("user", [USER], generation_prompt=True),
    Case("reply", [USER, REPLY]),
    Case("system", [SYSTEM, USER, REPLY, USER], generation_prompt=True),
    Case("tools-only", [USER], TOOLS, generation_prompt=True),
    Case("call", [USER, CALL], TOOLS),
    Case("call-result", [SYSTEM, USER, CALL, RESULT], TOOLS, generation_prompt=True),
    Case("call-result-no-tools", [USER, CALL, RESULT, REPLY]),
    Case("arguments-string", [USER, {**CALL, "tool_calls": [call('{"port": "Vlissingen"}')]}, RESULT], TOOLS),
    Case("arguments-hard", [USER, {**CALL, "content": "So:", "tool_calls": [call(HARD)]}, RESULT], TOOLS),
    Case("content-null", [USER, {**CALL, "content": None}, RESULT], TOOLS, generation_prompt=True),
    Case("content-absent", [USER, {k: v for k, v in CALL.items() if k != "content"}, RESULT], TOOLS),
    Case("tool-calls-null", [USER, {**REPLY, "tool_calls": None}, USER]),
    Case("tool-calls-empty", [USER, {**REPLY, "tool_calls": []}, USER]),
    Case(
        "parallel",
        [
            USER,
            {**CALL, "tool_calls": [call({"port": "A"}), call({"port": "B"}, "get_wind", "call00002")]},
            RESULT,
            {**RESULT, "tool_call_id": "call00002", "name": "get_wind"},
        ],
        TOOLS,
        generation_prompt=True,
    ),
    Case("reasoning-content", [USER, {**REPLY, "reasoning_content": "Hmm."}, USER], generation_prompt=True),
    Case("reasoning", [USER, {**REPLY, "reasoning": "Hmm."}]),
    Case("thinking-key", [USER, {**CALL, "thinking": "Hmm."}, RESULT], TOOLS, generation_prompt=True),
    Case("think-inline", [USER, {**REPLY, "content": "<think>\nHmm.\n</think>\n\nAt noon."}, USER]),
    Case("think-off", [USER], None, {"enable_thinking": False}, True),
    Case("think-on", [USER], TOOLS, {"enable_thinking": True, "thinking": True, "reasoning_effort": "low"}, True),
    Case("parts", [{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "sea"}]}]),
    Case("developer", [{"role": "developer", "content": "Be brief."}, USER], generation_prompt=True),
    Case("odd-role", [USER, {"role": "harbour master", "content": "Hm"}]),
    Case("documents", [USER], None, {"documents": [{"title": "T", "text": "D"}]}, True),
    Case("continue", [USER, {"role": "assistant", "content": "At noon, "}], continue_final=True),
    Case(
        "continue-parts",
        [USER, {"role": "assistant", "content": [{"type": "text", "text": "At"}]}],
        continue_final=True,
    ),
    Case("empty", []),
    Case("not-a-dict", ["hello"]),
]
SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
