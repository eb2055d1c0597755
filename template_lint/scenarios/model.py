"""A scenario: a named conversation with cut points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Scenario(NamedTuple):
    """A conversation and where it is cut.

    ``cuts`` are message counts in rising order: each pair of neighbours asks whether the render of the first
    ``cuts[i]`` messages is a prefix of the render of the first ``cuts[i + 1]``. ``tools`` is None where ``tools=`` is
    not given. ``think`` scenarios are repeated for each thinking switch of the template. ``own`` marks the user's own
    conversations.
    """

    name: str
    title: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    kwargs: dict[str, Any]
    cuts: list[int]
    think: bool = False
    own: bool = False

    def with_kwargs(self, kwargs: Mapping[str, Any]) -> Scenario:
        """The same conversation with template kwargs; they show in the name."""
        shown = ",".join(f"{key}={_literal(value)}" for key, value in kwargs.items())
        return self._replace(name=f"{self.name}[{shown}]", kwargs={**self.kwargs, **kwargs})

    @property
    def uses_tools(self) -> bool:
        """Whether tools are offered, called or answered."""
        return self.tools is not None or any(
            message.get("role") == "tool" or message.get("tool_calls") for message in self.messages
        )

    @property
    def base_name(self) -> str:
        """The name without the switches that ``with_kwargs`` appends."""
        return self.name.partition("[")[0]


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def natural_cuts(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Cut before and after every assistant message: where a rollout asks the model, and where it has answered."""
    cuts = []
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            cuts += [index, index + 1]
    if len(messages) not in cuts:
        cuts.append(len(messages))
    return sorted({cut for cut in cuts if cut > 0})


def in_text_part(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with its content, which is a text, as one typed text part."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def strings_of(messages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Texts of messages that a render should not lose: contents, call names, argument values."""
    found: list[str] = []
    stack: list[Any] = [
        [message.get("content"), [call.get("function") for call in message.get("tool_calls") or ()]]
        for message in messages
    ]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if value:
                found.append(value)
        elif isinstance(value, Mapping):
            stack.extend(value.values())
        elif isinstance(value, list | tuple):
            stack.extend(value)
    return found
