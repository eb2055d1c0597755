"""A template that is a string in a JSON file: which characters of the file are which characters of the template."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

_SPACE = re.compile(r"[ \t\n\r]*")
# One character of a JSON string as it is written: a surrogate pair, an escape, or the character itself.
_UNIT = re.compile(r"\\u[dD][89aAbB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL)
_DECODER = json.JSONDecoder()


class Embedded(NamedTuple):
    """The text of a JSON file and, for each offset into the template, the offset into that text where it is written.

    Offsets count code points, from 0. Those of the template count ``\\r\\n`` as one, as places do; the last one is
    where the string ends.
    """

    text: str
    offsets: list[int]


def embedded(text: str, pointer: str, source: str) -> Embedded | None:
    """Find the template ``source`` in a JSON text at ``pointer``; None where the string there is another one."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    try:
        at = _skip(text, 0)
        for part in parts:
            at = _child(text, at, part)
        if text[at] != '"' or _DECODER.raw_decode(text, at)[0] != source:
            return None
    except (ValueError, IndexError, KeyError):
        return None
    return Embedded(text, _offsets(text, at + 1))


def _child(text: str, at: int, name: str) -> int:
    """Return where the value ``name`` of the object, or of the array, at ``at`` begins; the last of several."""
    closing = {"{": "}", "[": "]"}[text[at]]
    found, index = -1, 0
    at = _skip(text, at + 1)
    while text[at] != closing:
        key = str(index)
        if closing == "}":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if key == name:
            found = at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    if found < 0:
        raise KeyError(name)
    return found


def _skip(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


def _offsets(text: str, at: int) -> list[int]:
    offsets: list[int] = []
    after_return = False
    for unit in _UNIT.finditer(text, at):
        written = unit[0]
        if written == '"':
            return [*offsets, unit.start()]
        char = json.loads(f'"{written}"') if written[0] == "\\" else written
        if not (char == "\n" and after_return):
            offsets.append(unit.start())
        after_return = char == "\r"
    return offsets
