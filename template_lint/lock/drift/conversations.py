"""Which conversations two sides are compared on: the whole catalogue, in every legal form, with every thinking switch.

A conversation that the pinned template accepts in one form (arguments as a mapping, empty content) is also asked in the
others: what a server or a trainer sends is not ours to choose, and some changes show in one form only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.facts.shapes import SHAPES, Shape
from template_lint.scenarios.catalogue import load_catalogue
from template_lint.scenarios.model import Scenario

Message = dict[str, Any]


class Form(NamedTuple):
    """A way to write the same messages. ``name`` is empty for the form that the first side accepts."""

    name: str
    change: Callable[[Message], Message]


def conversations(shape: Shape, settings: Sequence[Mapping[str, Any]], own: Sequence[Scenario] = ()) -> list[Scenario]:
    """All conversations, each name once.

    ``shape`` is the form that comes first and has no name; ``settings`` are those of the thinking switches of both
    sides; ``own`` are the user's. Forms that leave a conversation as it is are not repeated. The messages are alive as
    long as the list: renders are remembered by their identity.
    """
    found: list[Scenario] = []
    for form in _forms(shape):
        written: dict[int, Message] = {}
        for scenario in load_catalogue():
            messages = [written.setdefault(id(message), form.change(message)) for message in scenario.messages]
            if form.name and not _differs(messages, [_shaped(shape, message) for message in scenario.messages]):
                continue
            name = f"{scenario.name}/{form.name}" if form.name else scenario.name
            # As the user's own, whose renders are told apart by their messages and not by name.
            found.append(scenario._replace(name=name, messages=messages, own=True))
    switched = [scenario.with_kwargs(setting) for setting in settings for scenario in found if scenario.think]
    return [*found, *switched, *_numbered(own)]


def _numbered(own: Sequence[Scenario]) -> Iterator[Scenario]:
    """The user's conversations, whose names need not differ, by names that do."""
    seen: dict[str, int] = {}
    for scenario in own:
        seen[scenario.name] = seen.get(scenario.name, 0) + 1
        number = seen[scenario.name]
        yield scenario if number == 1 else scenario._replace(name=f"{scenario.name}#{number}")


def _forms(shape: Shape) -> Iterator[Form]:
    yield Form("", lambda message: _shaped(shape, message))
    for other in SHAPES:
        if other != shape:
            yield Form(_name(shape, other), lambda message, other=other: _shaped(other, message))  # type: ignore[misc]
    yield Form("null-content", lambda message: _null_content(_shaped(shape, message)))
    yield Form("null-tool-calls", lambda message: _null_calls(_shaped(shape, message)))
    for key in ("reasoning", "thinking"):
        yield Form(f"{key}-key", lambda message, key=key: _reasoning_as(key, _shaped(shape, message)))  # type: ignore[misc]


def _name(base: Shape, other: Shape) -> str:
    words = []
    if other.arguments != base.arguments:
        words.append(f"{other.arguments}-arguments")
    if other.empty != base.empty:
        words.append("no-content" if other.empty == "absent" else "empty-content")
    return "-".join(words)


def _shaped(shape: Shape, message: Message) -> Message:
    return shape.apply([message])[0]


def _null_content(message: Message) -> Message:
    """A call without text as OpenAI-compatible servers send it."""
    return {**message, "content": None} if message.get("tool_calls") and not message.get("content") else message


def _null_calls(message: Message) -> Message:
    """An answer without calls as a dumped response object has it."""
    if message.get("role") != "assistant" or message.get("tool_calls"):
        return message
    return {**message, "tool_calls": None}


def _reasoning_as(key: str, message: Message) -> Message:
    if "reasoning_content" not in message:
        return message
    return {key if name == "reasoning_content" else name: value for name, value in message.items()}


def _differs(one: Sequence[Message], other: Sequence[Message]) -> bool:
    # As written: None beside a missing key, or keys in another order, are different messages.
    return repr(one) != repr(other)
