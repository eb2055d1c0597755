"""Words and excerpts that several rules share."""

from __future__ import annotations

from collections.abc import Sequence

_CONTEXT = 60
_MOST_BACK = 20


def shorten(text: str, limit: int = 48) -> str:
    """A quoted, escaped excerpt of at most ``limit`` characters of prompt text, for use inside a sentence."""
    return f"'{cropped(text, limit)}'"


def code(source: str, limit: int = 40) -> str:
    """An excerpt of template source, for use inside a sentence; white space alone is quoted and escaped."""
    return f"`{cropped(' '.join(source.split()), limit)}`" if source.strip() else shorten(source, limit)


def cropped(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text, what does not print escaped."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def plural(count: int, noun: str) -> str:
    """``1 scenario``, ``3 scenarios``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def word_start(text: str, offset: int) -> int:
    """Back to where the differing word or tag begins: two tags that differ often share their first characters."""
    start = offset
    while start > max(0, offset - _MOST_BACK) and not text[start - 1].isspace():
        start -= 1
        if text[start] in "<[":
            return start
    return start if start > offset - _MOST_BACK else offset


def around(text: str, offset: int) -> tuple[str, int]:
    """An excerpt of about 60 characters each side of ``offset``, and the index of ``offset`` in it."""
    start = max(0, offset - _CONTEXT)
    return text[start : offset + _CONTEXT], offset - start


def setting(kwargs: dict[str, object]) -> str:
    """Template kwargs as a user writes them: ``enable_thinking=false``."""
    return ", ".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in kwargs.items()
    )
