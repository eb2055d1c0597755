"""Who speaks where in a rendered prompt: a message of the conversation, a control token, or the template itself.

An aid for the eye, found by looking for the words of each message in order; no verdict may rest on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

# The shapes of control tokens in the wild: <|im_end|>, <｜User｜>, <start_of_turn>, <think>, </s>, [INST].
_CONTROL = re.compile(r"<[|｜][^<>\n]{1,40}[|｜]>|</?(?:[a-z][a-z_]{2,30}|s)>|\[/?[A-Z][A-Z_]{1,30}\]")
_NOT_WORDS = frozenset({"role", "id", "type", "tool_call_id"})

TEMPLATE, CONTROL = "", "control"


class Run(NamedTuple):
    """The range [start, end) of a text, in code points, and who speaks there: a role, ``CONTROL`` or ``TEMPLATE``."""

    start: int
    end: int
    voice: str


class Voices:
    """The speaker of every character of a rendered prompt."""

    def __init__(self, text: str, messages: Sequence[Mapping[str, Any]], control_tokens: Iterable[str] = ()) -> None:
        roles = dict.fromkeys(str(message.get("role", "")) for message in messages)
        self._names = [TEMPLATE, CONTROL, *[role for role in roles if role]]
        self._marks = bytearray(len(text))
        for token in [*_CONTROL.findall(text), *control_tokens]:
            self._mark_all(text, token)
        cursor = 0
        for message in messages:
            cursor = self._mark_message(text, message, cursor)

    def at(self, offset: int) -> str:
        """Return who speaks at a character offset; ``TEMPLATE`` past the end."""
        return self._names[self._marks[offset]] if offset < len(self._marks) else TEMPLATE

    def runs(self) -> Iterator[Run]:
        """Yield the text as runs of one speaker each, in order, without gaps."""
        start = 0
        for mark, run in groupby(self._marks):
            end = start + sum(1 for _ in run)
            yield Run(start, end, self._names[mark])
            start = end

    def _mark_all(self, text: str, token: str) -> None:
        at = text.find(token) if token else -1
        while at >= 0:
            self._mark(at, at + len(token), CONTROL)
            at = text.find(token, at + len(token))

    def _mark_message(self, text: str, message: Mapping[str, Any], cursor: int) -> int:
        """Mark the words of one message, which stand after those of the one before, if they are there at all."""
        role = str(message.get("role", ""))
        reached = cursor
        for words in _words(message):
            at = text.find(words, cursor)
            if at < 0:
                continue
            self._mark(at, at + len(words), role)
            reached = max(reached, at + len(words))
        return reached

    def _mark(self, start: int, end: int, name: str) -> None:
        if name in self._names:
            self._marks[start:end] = bytes([min(self._names.index(name), 255)]) * (end - start)


def _words(value: Any) -> Iterator[str]:
    """Yield the strings of a message that a template may print; single characters would match anywhere."""
    if isinstance(value, str):
        if len(value.strip()) > 1:
            yield value.strip()
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key not in _NOT_WORDS:
                yield from _words(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _words(item)
