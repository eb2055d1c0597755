"""What apply_chat_template does to messages, tools and kwargs before the template sees them, per profile."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from template_lint.rendering.profiles import Profile

REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


def normalise_messages(messages: Sequence[Any], profile: Profile) -> list[Any]:
    """The messages as the template receives them.

    Raises ValueError for an empty conversation (5.24) and TypeError for a message that is not a mapping, as
    transformers does. Each message is normalised by itself, so a prefix of the result is the result of the prefix.
    """
    if profile.drops_none:
        if not messages:
            raise ValueError("Cannot apply chat template to an empty conversation.")
        messages = [_without_none(_objects_to_dicts(message)) for message in messages]
    if profile.plain_data:
        messages = plain_data(list(messages))
        for message in messages:
            if not isinstance(message, dict):
                raise TypeError(f"a message should be a dict, but is {message!r}")
    if profile.aliases_reasoning:
        return [_with_reasoning_aliases(message) for message in messages]
    return list(messages)


def _without_none(message: Any) -> dict[Any, Any]:
    if not isinstance(message, dict):
        raise TypeError(f"a message should be a dict, but is {message!r}")
    return {key: value for key, value in message.items() if value is not None}


def _with_reasoning_aliases(message: Any) -> Any:
    if not isinstance(message, dict):
        return message
    reasoning = next((message[key] for key in REASONING_FIELDS if message.get(key) is not None), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def _objects_to_dicts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _objects_to_dicts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_objects_to_dicts(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_objects_to_dicts(item) for item in value)
    fields = _fields_of(value)
    return value if fields is None else _objects_to_dicts(fields)


def plain_data(value: Any) -> Any:
    """Rebuild a value from JSON types; anything else becomes ``<TypeName>``, as transformers does from 5.23."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain_data(key): plain_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_data(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain_data(item) for item in value)
    if (
        type(value).__module__ == "numpy"
        and callable(getattr(value, "item", None))
        and getattr(value, "shape", None) == ()
    ):
        return plain_data(value.item())
    fields = _fields_of(value)
    return f"<{type(value).__name__}>" if fields is None else plain_data(fields)


def _fields_of(value: Any) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else None
