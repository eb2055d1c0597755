"""Prefix questions: is an earlier render a prefix of a later one, in text and in token ids."""

from __future__ import annotations

import enum
from typing import NamedTuple

from template_lint.rendering.template import Outcome
from template_lint.scenarios.model import Scenario


class Appended(enum.Enum):
    """What the later conversation has more: decides which rule asks."""

    TOOL = "tool"
    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"
    OTHER = "other"


class Question(NamedTuple):
    """Two renders of one scenario that share their beginning.

    ``earlier`` and ``later`` are message counts. A prompt that the model answers has the generation prompt; a
    conversation that ends with the assistant has none. So ASSISTANT asks whether the generation prompt is a prefix of
    the finished turn.
    """

    scenario: Scenario
    appended: Appended
    earlier: int
    later: int
    earlier_outcome: Outcome
    later_outcome: Outcome

    @property
    def answered(self) -> bool:
        """Whether both sides rendered."""
        return self.earlier_outcome.ok and self.later_outcome.ok

    @property
    def holds(self) -> bool:
        """Whether the earlier text is a prefix of the later text. Only meaningful where ``answered``."""
        earlier, later = self.earlier_outcome.text, self.later_outcome.text
        return earlier is not None and later is not None and later.startswith(earlier)

    @property
    def delta(self) -> str:
        """The text that the appended messages add. Only meaningful where ``holds``."""
        assert self.earlier_outcome.text is not None and self.later_outcome.text is not None
        return self.later_outcome.text[len(self.earlier_outcome.text) :]


def wants_generation_prompt(scenario: Scenario, count: int) -> bool:
    """Whether a conversation cut after ``count`` messages is a prompt that waits for the model."""
    return scenario.messages[count - 1].get("role") != "assistant"


def appended_kind(scenario: Scenario, earlier: int, later: int) -> Appended:
    """What the messages between two cuts are. A tool result beside a user message counts as the user's."""
    roles = {message.get("role") for message in scenario.messages[earlier:later]}
    if roles & {"system", "developer"}:
        return Appended.SYSTEM
    if "user" in roles:
        return Appended.USER
    if roles == {"tool"}:
        return Appended.TOOL
    if roles == {"assistant"}:
        return Appended.ASSISTANT
    return Appended.OTHER


def common_prefix_length(a: str, b: str) -> int:
    """Number of leading characters that two texts share."""
    limit = min(len(a), len(b))
    if a[:limit] == b[:limit]:
        return limit
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix_length(a: str, b: str) -> int:
    """Number of trailing characters that two texts share."""
    return common_prefix_length(a[::-1], b[::-1])
