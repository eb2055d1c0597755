"""Words and excerpts that several rules share."""

from __future__ import annotations

from collections.abc import Sequence

_CONTEXT = 60


def shorten(text: str, limit: int = 48) -> str:
    """A quoted, escaped excerpt of at most ``limit`` characters for use inside a sentence."""
    escaped = text.encode("unicode_escape").decode("ascii") if _has_control(text) else text
    if len(escaped) > limit:
        escaped = escaped[: limit - 1] + "…"
    return f"'{escaped}'"


def _has_control(text: str) -> bool:
    return any(not character.isprintable() for character in text)


def plural(count: int, noun: str) -> str:
    """``1 scenario``, ``3 scenarios``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def around(text: str, offset: int) -> tuple[str, int]:
    """An excerpt of about 60 characters each side of ``offset``, and the index of ``offset`` in it."""
    start = max(0, offset - _CONTEXT)
    return text[start : offset + _CONTEXT], offset - start


def setting(kwargs: dict[str, object]) -> str:
    """Template kwargs as a user writes them: ``enable_thinking=false``."""
    return ", ".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in kwargs.items())
