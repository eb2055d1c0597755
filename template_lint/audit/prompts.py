"""TLA11: does a buffer begin with the ids of its own prompt, rendered from its messages?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from template_lint.audit.auditor import Auditor
from template_lint.audit.invariants import PROMPT
from template_lint.audit.model import Flaw, Trajectory

_MOST_PROMPTS = 4


def prompt_flaw(row: Trajectory, auditor: Auditor) -> tuple[bool, Flaw | None]:
    """(whether it could be asked, the flaw). Asked where the row has messages and they render.

    Messages may be the prompt or the whole conversation: the prompt is what stands before one of the assistant's
    messages, or all. It is enough that one of these fits.
    """
    if row.messages is None or not auditor.options.render or not auditor.has_template:
        return False, None
    own = row.ids.tolist()
    best: tuple[int, list[int]] | None = None
    for messages in _prompts(row.messages):
        text = auditor.render(messages, tools=row.tools, kwargs=row.kwargs).text
        if text is None:
            continue
        ids = auditor.prompt_ids(text)
        if own[: len(ids)] == ids:
            return True, None
        same = _common_prefix(own, ids)
        if best is None or same > best[0]:
            best = same, ids
    if best is None:
        return False, None
    same, ids = best
    return True, Flaw(PROMPT, _difference(auditor, own, ids, same), min(same, len(own) - 1))


def _prompts(messages: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The whole list where it is no finished conversation, then what stands before each message of the assistant."""
    before = [at for at, message in enumerate(messages) if at and message.get("role") == "assistant"]
    if not before or before[-1] != len(messages) - 1:
        yield messages
    for at in before[:_MOST_PROMPTS]:
        yield messages[:at]


def _common_prefix(one: list[int], other: list[int]) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _difference(auditor: Auditor, own: list[int], ids: list[int], same: int) -> str:
    rendered = f"{_token(auditor, ids[same])} ({len(ids)} tokens)" if same < len(ids) else "more"
    recorded = _token(auditor, own[same]) if same < len(own) else "nothing more"
    return f"at token {same} the buffer has {recorded}, the rendered prompt {rendered}"


def _token(auditor: Auditor, token_id: int) -> str:
    return f"{auditor.tokenization.decode([token_id])!r} (id {token_id})" if token_id >= 0 else f"id {token_id}"
