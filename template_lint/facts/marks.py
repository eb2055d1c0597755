"""Marks: the literals that stand for control tokens, such as ``<|im_end|>``, ``</tool_call>`` or ``[INST]``."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, NamedTuple

from template_lint.model import Place

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

MARK = re.compile(
    r"<\|[^<>|\n]{1,60}\|?>|<｜[^<>｜\n]{1,60}｜>|(?<!<)</?[^\W\d_][^<>\s=/\"']{0,47}\|?>(?!>)|\[/?\|?[A-Z][A-Za-z_|]{0,40}\]"
    r"|\[\|[a-z_]{1,40}\|\]|[\[\]]~?[a-z]~?[\[\]]"
)
"""What a control token looks like. Prose and code may look like it too: who asks says where it looked."""

_PIPED = r"<[|｜].*>|<[^|]*\|>|\[\|.*\|\]|[\[\]]~?[a-z]~?[\[\]]"
_NAMED = r"<(start|end|begin)_[a-z_]+>"
_WORDS = {"begin": ("end", "stop"), "start": ("end", "stop"), "open": ("close",), "bos": ("eos",)}
_BRACKETS = "<[|｜]>/"
_BARE = ("begin", "start", "open")
_CLOSERS = r"end|stop|close|eos|eot|eom|sep|return|/"


def marks_of(text: str) -> list[str]:
    """Every mark in a text, in order."""
    return MARK.findall(text)


def is_control(mark: str) -> bool:
    """Whether a mark is of a form that nobody writes as plain text: ``<|x|>``, ``<end_of_x>``, but not ``<x>``."""
    return re.fullmatch(_PIPED, mark) is not None or re.fullmatch(_NAMED, mark) is not None


def closes(mark: str) -> bool:
    """Whether a mark is named like the end of something."""
    return re.search(_CLOSERS, mark, re.IGNORECASE) is not None or mark == "</s>"


def partners(mark: str) -> Iterator[str]:
    """Every name that the mark which closes this one could have, as ``</x>`` for ``<x>``.

    None for a mark that is called start and nothing else: many things may end what it opens.
    """
    if "/" in mark[1:3] or mark.strip(_BRACKETS).lower() in _BARE:
        return
    for word, closing in _WORDS.items():
        for opener, closers in ((word, closing), (word.upper(), tuple(map(str.upper, closing)))):
            if opener in mark:
                yield from (mark.replace(opener, closer, 1) for closer in closers)
    if mark.startswith("<|") and not mark.endswith("|>"):
        yield f"<{mark[2:-1]}|>"
    elif mark.startswith("<|"):
        yield f"<|/{mark[2:]}"
    elif mark[0] in "<[" and mark[1] not in "|｜~":
        yield f"{mark[0]}/{mark[1:]}"


class Ending(NamedTuple):
    """What follows a text: white space, then ``marks`` with white space between them, then ``glue`` of white space.

    ``rest`` is what is left: text that is neither.
    """

    marks: list[str]
    body: str
    glue: str
    rest: str


def ending_of(text: str, *more: str) -> Ending:
    """Read the marks at the beginning of a text. ``more`` are tokens that count as marks whatever they look like."""
    marks: list[str] = []
    at = end = 0
    while True:
        start = at
        while start < len(text) and text[start].isspace():
            start += 1
        known = next((token for token in more if token and text.startswith(token, start)), None)
        match = MARK.match(text, start) if known is None else None
        mark = known or (match[0] if match else None)
        if mark is None:
            return Ending(marks, text[:end], text[end:start], text[start:])
        marks.append(mark)
        at = end = start + len(mark)


def literal_place(facts: TemplateFacts, literal: str) -> Place | None:
    """Where the template writes a literal, if it does so at one place only."""
    source_map = facts.template.source_map
    places = _occurrences(source_map.text, literal, 2)
    if len(places) != 1:
        return None
    token = source_map.tokens[source_map.token_index(places[0])]
    if token.kind not in ("data", "string") or places[0] + len(literal) > token.end:
        return None
    return source_map.place(places[0], places[0] + len(literal))


def first_place(facts: TemplateFacts, literal: str, besides: Container[int] = ()) -> Place | None:
    """Where the template first writes a literal, comments left out; None where it is put together at run time.

    ``besides`` are offsets of strings that do not count.
    """
    source_map = facts.template.source_map
    for at in _occurrences(source_map.text, literal, 1000):
        token = source_map.tokens[source_map.token_index(at)]
        if token.kind in ("data", "string") and at + len(literal) <= token.end and token.offset not in besides:
            return source_map.place(at, at + len(literal))
    return None


def _occurrences(text: str, literal: str, most: int) -> list[int]:
    found: list[int] = []
    at = text.find(literal)
    while at >= 0 and len(found) < most:
        found.append(at)
        at = text.find(literal, at + 1)
    return found
