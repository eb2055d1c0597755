"""What the prompt of a row may be: its messages, rendered with the target's template, each distinct prompt once."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from sys import getsizeof
from typing import Any, NamedTuple

from template_lint.audit.encoding import CutText, Encoder
from template_lint.audit.model import Trajectory
from template_lint.audit.remembered import ENTRY_BYTES, Remembered
from template_lint.rendering.template import Outcome

_MOST_PROMPTS = 4
_MOST_BYTES = 8 << 20


class Prompt(NamedTuple):
    """A rendered prompt: its text, None where the template raises, and the same text as the encoder cuts it."""

    text: str | None
    cut: CutText


class Prompts:
    """Renders prompts for one target. The rollouts of one group share theirs: the last ones are remembered."""

    def __init__(self, render: Callable[..., Outcome], encoder: Encoder) -> None:
        """``render`` takes messages, and ``tools`` and ``kwargs`` by name."""
        self._render = render
        self._encoder = encoder
        self._rendered: Remembered[bytes, Prompt] = Remembered(_MOST_BYTES)

    def candidates(self, row: Trajectory) -> Iterator[Prompt]:
        """What may be the prompt of a row, rendered, without what does not render; likely ones first.

        Messages may be the prompt or the whole conversation: the prompt is what stands before one of the assistant's
        messages, or all.
        """
        for messages in _prompts(row.messages or ()):
            prompt = self._prompt(messages, row.tools, row.kwargs)
            if prompt.text is not None:
                yield prompt

    def _prompt(self, messages: Sequence[Any], tools: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> Prompt:
        key = _key(messages, tools, kwargs)
        prompt = None if key is None else self._rendered.get(key)
        if prompt is None:
            text = self._render(messages, tools=tools, kwargs=kwargs).text
            prompt = Prompt(text, CutText(()) if text is None else self._encoder.cut(text))
            if key is not None:
                self._rendered.put(key, prompt, ENTRY_BYTES + getsizeof(key) + 2 * getsizeof(text))
        return prompt


def _key(*values: Any) -> bytes | None:
    """Bytes that are the same only for values that a template cannot tell apart; None for what is no plain data.

    Version 2 of the format has no references, which would depend on which values are one object.
    """
    try:
        return marshal.dumps(values, 2)
    except ValueError:
        return None


def _prompts(messages: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The whole list where it is no finished conversation, then what stands before each message of the assistant."""
    if not messages:
        return
    before = [at for at, message in enumerate(messages) if at and message.get("role") == "assistant"]
    if not before or before[-1] != len(messages) - 1:
        yield messages
    for at in before[:_MOST_PROMPTS]:
        yield messages[:at]
