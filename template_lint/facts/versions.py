"""Where the behaviour of transformers changed between two versions, and which change made one conversation differ.

The answer is asked, not guessed: the conversation is rendered under each version between the two at which something
changed, and the change after which the outcome is another one is the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from template_lint.rendering.profiles import Profile
from template_lint.rendering.template import Outcome


class Step(NamedTuple):
    """``profile`` is the first that behaves as ``change`` says."""

    profile: Profile
    change: str


STEPS = (
    Step(
        Profile((5, 0)),
        "the template sees other special tokens: no additional_special_tokens, and those that are empty strings",
    ),
    Step(Profile((5, 21)), "reasoning is handed over as reasoning_content and thinking, whichever key it came in"),
    Step(
        Profile((5, 23)), "what the template sees is rebuilt from plain JSON types; dict and namespace are restricted"
    ),
    Step(Profile((5, 24)), "message keys whose value is None are dropped before the template sees them"),
)
"""In order of release. Each changes what a template prints; what concerns only masks is not here."""


def steps_between(one: Profile, other: Profile) -> list[Step]:
    """The steps from the older of two profiles to the newer one, in order of release; none within one behaviour."""
    older, newer = sorted((one.version, other.version))
    return [step for step in STEPS if older < step.profile.version <= newer]


def reasons(steps: Sequence[Step], oldest: Outcome, render: Callable[[Profile], Outcome | None]) -> list[Step]:
    """The steps at which the outcome of one conversation becomes another, in order of release.

    ``oldest`` is its outcome before the first step; ``render`` gives it under a step's profile, None where it cannot
    be had (that step is then left out).
    """
    found = []
    last = oldest
    for step in steps:
        outcome = render(step.profile)
        if outcome is None:
            continue
        if (last.text, last.error) != (outcome.text, outcome.error):
            found.append(step)
        last = outcome
    return found
