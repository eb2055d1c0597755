"""Finished assistant turns of every kind, as the text that a model would have written, with what was sent.

A turn is the finished conversation without the prompt that it answers, its terminator included and no white space
after it: all of it is read off renders.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.literals import python_literals
from template_lint.facts.parallel import SECOND_ARGUMENT, SECOND_NAME, parallel_conversation
from template_lint.facts.probes import ARGUMENT, ASK, RESULT, TOOL
from template_lint.facts.turn import plain_turn
from template_lint.facts.variants import (
    BESIDE,
    HARD_ARGUMENTS,
    REPLY,
    THOUGHT,
    Kind,
    knows_reasoning,
    usual_call,
    with_arguments,
)
from template_lint.rendering.messages import REASONING_FIELDS

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.model import Place

_HARD_TYPES = ("string", "string", "integer", "number", "boolean", "boolean", "null", "array", "object", "string")


def _tool(name: str, types: Mapping[str, str]) -> dict[str, Any]:
    properties = {key: {"type": kind, "description": f"zqparameter {key}"} for key, kind in types.items()}
    function = {
        "name": name,
        "description": "zqdescription",
        "parameters": {"type": "object", "properties": properties},
    }
    return {"type": "function", "function": function}


TYPED_ARGUMENTS: dict[str, Any] = {**HARD_ARGUMENTS, "zqdigits": "75001"}
"""A text that looks like a number is the first to lose its type."""

HARD_TOOL = _tool(TOOL["function"]["name"], dict(zip(TYPED_ARGUMENTS, _HARD_TYPES, strict=True)))
SECOND_TOOL = _tool(SECOND_NAME, {"zqother": "string"})


class Message(NamedTuple):
    """A message of the assistant that answers ``ASK``, and the tools of its conversation.

    ``title`` says what it is. Where ``words`` are not in the turn, the template does not print it.
    """

    title: str
    message: dict[str, Any]
    tools: list[dict[str, Any]]
    words: tuple[str, ...]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """Name and arguments of each call, arguments as a mapping whatever the shape they are sent in."""
        functions = [call["function"] for call in self.message.get("tool_calls", ())]
        return [(function["name"], _mapping(function["arguments"])) for function in functions]

    @property
    def content(self) -> str:
        """The content; empty where there is none."""
        return self.message.get("content") or ""

    @property
    def reasoning(self) -> tuple[str, str]:
        """The field of the reasoning and its text; both empty where there is none."""
        return next(((field, self.message[field]) for field in REASONING_FIELDS if field in self.message), ("", ""))


def _mapping(arguments: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(arguments) if isinstance(arguments, str) else arguments
    return found


class FinishedTurn(NamedTuple):
    """``whole[start:stop]`` is the turn, ``prompt`` what stands before it; rendered with ``kwargs``.

    The turn may end earlier, at ``first_stop``: a model stops at the first token that ends a turn.
    """

    sent: Message
    prompt: str
    whole: str
    stop: int
    first_stop: int
    kwargs: Mapping[str, Any]

    @property
    def start(self) -> int:
        """Where the turn begins in ``whole``."""
        return len(self.prompt)

    @property
    def texts(self) -> list[str]:
        """What the model may have written: up to the last character that is no white space, or to the first stop."""
        return [self.whole[self.start : stop] for stop in dict.fromkeys((self.stop, self.first_stop))]

    @property
    def prints(self) -> bool:
        """Whether the turn holds the words of the message."""
        return all(word in self.texts[0] for word in self.sent.words)

    def place(self, facts: TemplateFacts, offset: int) -> Place | None:
        """Where the template prints the character at an offset of ``whole``."""
        return facts.place_in([ASK, self.sent.message], offset, tools=self.sent.tools or None, kwargs=self.kwargs)


def finished_turns(facts: TemplateFacts) -> Iterator[FinishedTurn]:
    """The turns that can be judged: they begin with the whole generation prompt, and print what was sent."""
    for message in _messages(facts):
        turn = finished_turn(facts, message)
        if turn is not None and turn.prints:
            yield turn


def finished_turn(facts: TemplateFacts, sent: Message) -> FinishedTurn | None:
    """The turn of one message, in the first thinking mode whose generation prompt it begins with; None without one."""
    for kwargs in ({}, *facts.switches):
        tools = sent.tools or None
        prompt = facts.render([ASK], tools=tools, generation_prompt=True, kwargs=kwargs).text
        whole = facts.render([ASK, sent.message], tools=tools, kwargs=kwargs).text
        if prompt and whole is not None and whole.startswith(prompt):
            stop = len(whole.rstrip())
            return FinishedTurn(sent, prompt, whole, stop, _first_stop(facts, sent, whole, len(prompt), stop), kwargs)
    return None


def _first_stop(facts: TemplateFacts, sent: Message, whole: str, start: int, stop: int) -> int:
    """The end of the first terminator after the last word of the message; ``stop`` where there is none."""
    plain = plain_turn(facts)
    marks = plain.last.marks if plain is not None else []
    last = max((whole.rfind(word, start) for word in sent.words), default=start)
    at = whole.find(marks[0], max(start, last)) if marks else -1
    return at + len(marks[0]) if at >= 0 else stop


def _messages(facts: TemplateFacts) -> Iterator[Message]:
    yield Message("a plain answer", REPLY, [], (REPLY["content"],))
    reasoning = _reasoning_field(facts)
    if reasoning is not None:
        yield Message("an answer after reasoning", {**REPLY, reasoning: THOUGHT}, [], (REPLY["content"], THOUGHT))
    if not facts.tool_rules_apply:
        return
    call = usual_call(facts)
    yield Message("a call", call, [TOOL], (ARGUMENT,))
    # What is printed as a Python literal is told by its own rule (TL207).
    if not any(literal.variant.kind is Kind.HARD and literal.text[0] in "[{" for literal in python_literals(facts)):
        yield hard_call(facts, TYPED_ARGUMENTS)
    calls = parallel_conversation(facts).messages[1]
    both = ARGUMENT, SECOND_ARGUMENT
    yield Message("two calls in one turn", calls, [TOOL, SECOND_TOOL], both)
    yield Message("a call after content", {**call, "content": BESIDE}, [TOOL], (ARGUMENT, BESIDE))
    yield Message("two calls after content", {**calls, "content": BESIDE}, [TOOL, SECOND_TOOL], (*both, BESIDE))
    if reasoning is not None:
        yield Message("a call after reasoning", {**call, reasoning: THOUGHT}, [TOOL], (ARGUMENT, THOUGHT))


def hard_call(facts: TemplateFacts, arguments: dict[str, Any]) -> Message:
    """A call with some of the arguments of every JSON type; some templates leave some of them out."""
    message = with_arguments(facts, arguments, RESULT).messages[1]
    return Message("a call with arguments of every type", message, [HARD_TOOL], (ARGUMENT,))


def _reasoning_field(facts: TemplateFacts) -> str | None:
    """The first name under which the template prints reasoning."""
    if not knows_reasoning(facts):
        return None
    for field in REASONING_FIELDS:
        turn = finished_turn(facts, Message("", {**REPLY, field: THOUGHT}, [], (THOUGHT,)))
        if turn is not None and turn.prints:
            return field
    return None
