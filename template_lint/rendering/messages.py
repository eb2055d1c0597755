"""What apply_chat_template does to messages, tools and kwargs before the template sees them, per profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from template_lint.rendering.profiles import Profile

REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


def normalise_messages(messages: Sequence[Any], profile: Profile) -> list[Any]:
    """The messages as the template receives them.

    Raises ValueError for an empty conversation (5.24) and TypeError for a message that is not a mapping, as
    transformers does. Each message is normalised by itself, so a prefix of the result is the result of the prefix.
    """
    if profile.drops_none and not messages:
        raise ValueError("Cannot apply chat template to an empty conversation.")
    return [_normalised(message, profile) for message in messages]


def _normalised(message: Any, profile: Profile) -> Any:
    plain = _is_plain(message)
    if profile.drops_none:
        message = _without_none(message if plain else _objects_to_dicts(message))
    if profile.plain_data:
        message = message if plain else plain_data(message)
        if not isinstance(message, dict):
            raise TypeError(f"a message should be a dict, but is {message!r}")
    return _with_reasoning_aliases(message) if profile.aliases_reasoning else message


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


_ATOMS = frozenset({str, int, float, bool, type(None)})


def _is_plain(value: Any) -> bool:
    """Whether a value is made of nothing but dicts, lists and JSON's atoms: rebuilt, it would be equal to itself."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            if type(key) not in _ATOMS or (type(item) not in _ATOMS and not _is_plain(item)):
                return False
        return True
    if kind is list:
        return all(type(item) in _ATOMS or _is_plain(item) for item in value)
    return kind in _ATOMS


def plain_data(value: Any) -> Any:
    """Rebuild a value from JSON types; anything else becomes ``<TypeName>``, as transformers does from 5.23.

    What is plain already comes back as it is: no template can change its data.
    """
    if value is None or type(value) in _ATOMS or _is_plain(value):
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
    if hasattr(type(value), "__dataclass_fields__"):
        import dataclasses

        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) else None
