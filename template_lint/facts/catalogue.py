"""The catalogue in one shape, and what apply_chat_template makes of its messages: the same for every template.

Made once per process. No template can change its data (the sandbox is immutable), so all templates may share it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from template_lint.facts.shapes import Shape
from template_lint.rendering.messages import normalise_messages
from template_lint.rendering.profiles import Profile
from template_lint.scenarios.catalogue import load_catalogue
from template_lint.scenarios.model import Scenario


class Prepared(NamedTuple):
    """Messages as a template receives them. ``messages`` keeps the originals alive, which are known by identity."""

    messages: list[dict[str, Any]]
    normalised: list[Any]


@lru_cache(maxsize=8)
def shaped_catalogue(shape: Shape) -> tuple[Scenario, ...]:
    """All built-in scenarios with their messages in ``shape``. Treat them as read-only.

    One object per catalogue message, so that scenarios share renders.
    """
    shaped: dict[int, dict[str, Any]] = {}

    def apply(message: dict[str, Any]) -> dict[str, Any]:
        return shaped.setdefault(id(message), shape.apply([message])[0])

    return tuple(s._replace(messages=[apply(message) for message in s.messages]) for s in load_catalogue())


@lru_cache(maxsize=16)
def _prepared(shape: Shape, profile: Profile) -> dict[int, Prepared]:
    """id of a scenario's list of messages -> what the template receives."""
    return {
        id(scenario.messages): Prepared(scenario.messages, normalise_messages(scenario.messages, profile))
        for scenario in shaped_catalogue(shape)
    }


def normalised_messages(scenario: Scenario, shape: Shape, profile: Profile) -> list[Any]:
    """``normalise_messages`` of a scenario, looked up where it is one of ``shaped_catalogue(shape)``."""
    known = _prepared(shape, profile).get(id(scenario.messages))
    return known.normalised if known is not None else normalise_messages(scenario.messages, profile)
