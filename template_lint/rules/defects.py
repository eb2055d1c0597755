"""Names of defects that more than one rule sees. What two findings of a template state by one name is told once."""

from __future__ import annotations

from collections.abc import Iterable

from template_lint.model import Place

UNDEFINED = r"'(\w+)' is undefined"
"""What Jinja says of a name that nobody sets, as a pattern; the group is the name."""


def passing_text(place: Place | None) -> list[str]:
    """Text that does not stay, by the condition that takes it away or the expression that prints it."""
    return [] if place is None else [f"text that does not stay: {place.offset} to {place.end_offset}"]


def moving_texts(texts: Iterable[str]) -> list[str]:
    """Texts of messages that stand behind a later message once that is there."""
    return [f"message that moves: {text}" for text in dict.fromkeys(texts)]


def shapes(titles: Iterable[str]) -> list[str]:
    """Shapes of a message that the template does not treat as what they mean, by their titles."""
    return [f"shape: {title}" for title in titles]


def undefined_name(name: str) -> list[str]:
    """A name that nobody sets, or that is not set on the way taken."""
    return [f"undefined name: {name}"]
