"""Mutants of templates: tokens deleted, doubled, swapped, operators changed, two templates spliced, attacks put in.

The same seed gives the same mutants.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tests.hostile.attacks import FRAGMENTS

_TOKEN = re.compile(r"\{[%{#][-+]?|[-+]?[%}#]\}|'[^'\n]*'|\"[^\"\n]*\"|\w+|\s+|[<>=!~|.,:()\[\]{}+*/%-]|.", re.DOTALL)
_OPERATORS = ("not in", "is not", "==", "!=", "<", ">=", "in", "is", "and", "or", "+", "~", "*", "**", "//", "|", ".")
_KEYWORDS = ("if", "elif", "else", "endif", "for", "endfor", "set", "macro", "endmacro", "block", "generation")
_NUMBERS = ("0", "-1", "2", "99999", "999999999", "9" * 40, "1.5", "none", "true", "[]", "{}")
_LONGEST = 40_000

Change = Callable[[list[str], Sequence[str], random.Random], list[str]]


def mutate(sources: Sequence[str], random_: random.Random) -> str:
    """One mutant of a template chosen at random, one to five changes away from it."""
    tokens = _TOKEN.findall(random_.choice(sources)[:_LONGEST])
    for _ in range(random_.choice((1, 1, 2, 3, 5))):
        tokens = random_.choice(_CHANGES)(tokens, sources, random_) or tokens
    return "".join(tokens)


def _at(tokens: list[str], random_: random.Random) -> int:
    return random_.randrange(len(tokens)) if tokens else 0


def _delete(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    at, count = _at(tokens, random_), random_.choice((1, 1, 1, 3, 20))
    return tokens[:at] + tokens[at + count :]


def _double(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    at, count = _at(tokens, random_), random_.choice((1, 1, 5, 60))
    return tokens[: at + count] + tokens[at : at + count] * random_.choice((1, 1, 2, 30)) + tokens[at + count :]


def _swap(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    one, two = _at(tokens, random_), _at(tokens, random_)
    tokens = list(tokens)
    if tokens:
        tokens[one], tokens[two] = tokens[two], tokens[one]
    return tokens


def _replace(choices: Sequence[str], pattern: str) -> Change:
    fits = re.compile(pattern)

    def change(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
        places = [index for index, token in enumerate(tokens) if fits.fullmatch(token)]
        tokens = list(tokens)
        if places:
            tokens[random_.choice(places)] = f" {random_.choice(choices)} "
        return tokens

    return change


def _rename(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    names = [index for index, token in enumerate(tokens) if token.isidentifier()]
    tokens = list(tokens)
    if names:
        tokens[random_.choice(names)] = tokens[random_.choice(names)]
    return tokens


def _splice(tokens: list[str], sources: Sequence[str], random_: random.Random) -> list[str]:
    other = _TOKEN.findall(random_.choice(sources)[:_LONGEST])
    return tokens[: _at(tokens, random_)] + other[_at(other, random_) :]


def _attack(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    at = _at(tokens, random_)
    return [*tokens[:at], random_.choice(FRAGMENTS), *tokens[at:]]


def _cut(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    at = _at(tokens, random_)
    return tokens[:at] if random_.random() < 0.5 else tokens[at:]


def _newlines(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    return [token.replace("\n", random_.choice(("\r\n", "\r", "\u2028", ""))) for token in tokens]


def _noise(tokens: list[str], _: Sequence[str], random_: random.Random) -> list[str]:
    at = _at(tokens, random_)
    return [*tokens[:at], chr(random_.choice((0, 7, 27, 0x200B, 0xD800, 0xFFFE, 0x1F600, 0xE0041))), *tokens[at:]]


_CHANGES = (
    _delete,
    _double,
    _swap,
    _replace(_OPERATORS, r"[=!<>~+*|.]|in|is|and|or|not"),
    _replace(_KEYWORDS, r"if|elif|else|endif|for|endfor|set|endset|macro|endmacro"),
    _replace(_NUMBERS, r"\d+|true|false|none"),
    _rename,
    _splice,
    _attack,
    _attack,
    _cut,
    _newlines,
    _noise,
)
