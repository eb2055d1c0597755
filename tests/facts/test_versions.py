"""The steps between versions of transformers, and finding the one that made a conversation differ."""

from __future__ import annotations

import pytest

from template_lint.facts.versions import reasons, steps_between
from template_lint.rendering.profiles import Profile, parse_profile
from template_lint.rendering.template import Outcome


def labels(one: str, other: str) -> list[str]:
    return [step.profile.label for step in steps_between(parse_profile(one), parse_profile(other))]


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("4.57", "5.24", ["5.0", "5.21", "5.23", "5.24"]),
        ("5.24", "4.57", ["5.0", "5.21", "5.23", "5.24"]),
        ("5.20", "5.22", ["5.21"]),
        ("5.21", "5.22", []),
        ("4.57", "4.57", []),
    ],
)
def test_steps_are_those_after_the_older_up_to_the_newer(one: str, other: str, found: list[str]) -> None:
    assert labels(one, other) == found


def test_every_step_after_which_the_outcome_is_another_is_a_reason() -> None:
    texts = {(5, 0): "a", (5, 21): "b", (5, 23): "b", (5, 24): "c"}
    steps = steps_between(parse_profile("4.57"), parse_profile("5.24"))

    def render(profile: Profile) -> Outcome | None:
        return Outcome(texts[profile.version])

    found = reasons(steps, Outcome("a"), render)
    assert [step.profile.version for step in found] == [(5, 21), (5, 24)]


def test_a_version_that_cannot_be_had_is_left_out() -> None:
    steps = steps_between(parse_profile("5.20"), parse_profile("5.24"))
    found = reasons(steps, Outcome("a"), lambda profile: None if profile.version < (5, 24) else Outcome("b"))
    assert [step.profile.version for step in found] == [(5, 24)]
