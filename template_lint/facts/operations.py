"""Operations on constants, as Python and Jinja's filters do them, bounded in the size of what they build.

They raise whatever Python raises; an operation that would build too much raises OverflowError.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MOST_SIZE = 2_000
_WIDTH = r"%[^a-zA-Z%]*[\d*]"


def times(left: Any, right: Any) -> Any:
    """``left * right``."""
    size = max(len(side) if isinstance(side, str | list | tuple) else abs(side) for side in (left, right))
    if size > MOST_SIZE:
        raise OverflowError
    return left * right


def percent(left: Any, right: Any) -> Any:
    """``left % right``; formats with a width are refused."""
    if isinstance(left, str) and re.search(_WIDTH, left):
        raise OverflowError
    return left % (tuple(right) if isinstance(right, list) else right)


def _sequence(value: Any) -> Any:
    return list(value) if isinstance(value, dict) else value


def _join(value: Any, separator: str = "", attribute: Any = None) -> str:
    return str(separator).join(map(str, _sequence(value)))


def _replace(text: Any, old: str, new: str, count: int = -1) -> str:
    if len(text) * max(1, len(new)) > MOST_SIZE * 10:
        raise OverflowError
    return str(text).replace(old, new, count)


def _reverse(value: Any) -> Any:
    return value[::-1] if isinstance(value, str) else list(_sequence(value))[::-1]


def _map(value: Any, name: str = "", *arguments: Any) -> Any:
    return [FILTERS[name](item, *arguments) for item in _sequence(value)]


FILTERS: dict[str, Callable[..., Any]] = {
    "join": _join,
    "replace": _replace,
    "reverse": _reverse,
    "map": _map,
    "lower": lambda text: str(text).lower(),
    "upper": lambda text: str(text).upper(),
    "capitalize": lambda text: str(text).capitalize(),
    "title": lambda text: str(text).title(),
    "trim": lambda text, chars=None: str(text).strip(chars),
    "string": str,
    "list": list,
    "first": lambda value: _sequence(value)[0],
    "last": lambda value: _sequence(value)[-1],
    "format": lambda text, *arguments: percent(text, arguments),
    "default": lambda value, *_: value,
    "d": lambda value, *_: value,
    "safe": lambda value: value,
    "e": lambda value: value,
    "escape": lambda value: value,
    "striptags": lambda value: value,
    "sort": lambda value: sorted(_sequence(value)),
    "unique": lambda value: list(dict.fromkeys(_sequence(value))),
    "int": int,
    "abs": abs,
    "length": len,
    "count": len,
}

_METHODS = frozenset(
    {"join", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "split", "rsplit", "title", "capitalize"}
    | {
        "swapcase",
        "casefold",
        "removeprefix",
        "removesuffix",
        "splitlines",
        "partition",
        "rpartition",
        "keys",
        "values",
    }
    | {"get", "items"}
)


def method(value: Any, name: str, arguments: list[Any]) -> Any:
    """``value.name(*arguments)`` for methods that make texts and lists."""
    if name == "format" and isinstance(value, str):
        return _plain_format(value, arguments)
    if name == "replace" and isinstance(value, str):
        return _replace(value, *arguments)
    if name not in _METHODS or not isinstance(value, str | list | dict):
        raise LookupError(name)
    result = getattr(value, name)(*arguments)
    return result if isinstance(result, str) else list(result)


def _plain_format(text: str, arguments: list[Any]) -> str:
    # Only bare fields: a width or an attribute is no way to assemble a name.
    result = text
    for index, argument in enumerate(arguments):
        result = result.replace("{}", str(argument), 1).replace(f"{{{index}}}", str(argument))
    if len(result) > MOST_SIZE:
        raise OverflowError
    return result
