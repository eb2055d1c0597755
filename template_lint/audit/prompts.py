"""TLA11: does a buffer begin with the ids of its own prompt, rendered from its messages?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from template_lint.audit.auditor import Auditor
from template_lint.audit.invariants import PROMPT
from template_lint.audit.model import Flaw, Trajectory
from template_lint.audit.rendered import Prompt

WITHOUT_TOOLS = "tools not recorded"
"""A note: the prompt was made with tools, and the row does not hold them."""
_SOME_TOOL = [
    {"type": "function", "function": {"name": "x", "parameters": {"type": "object", "properties": {}, "required": []}}}
]
_CONTEXT = 6
"""Tokens before a difference that are shown."""


def prompt_flaw(
    row: Trajectory, own: list[int], candidates: Iterator[Prompt], first: list[int], auditor: Auditor
) -> Flaw | str | None:
    """What is wrong with a buffer of ids ``own``; None if it begins with one of the prompts, a note if nobody can say.

    ``first`` are the ids of the first prompt, which has been taken from ``candidates`` already.
    """
    best: tuple[int, list[int]] | None = None
    for ids in (first, *_encoded(candidates, auditor)):
        if own[: len(ids)] == ids:
            return None
        same = _common_prefix(own, ids)
        if best is None or same > best[0]:
            best = same, ids
    assert best is not None
    same, ids = best
    if row.tools is None and _nearer_with_tools(row, own, same, auditor):
        return WITHOUT_TOOLS
    return Flaw(PROMPT, _difference(auditor, own, ids, same), min(same, len(own) - 1))


def _encoded(prompts: Iterator[Prompt], auditor: Auditor) -> Iterator[list[int]]:
    for prompt in prompts:
        yield auditor.encoder.encode_batch([prompt.cut])[0]


def _nearer_with_tools(row: Trajectory, own: list[int], same: int, auditor: Auditor) -> bool:
    """Whether a prompt with some tool agrees for longer: then the row lacks the tools that its prompt was made with."""
    if auditor.prompts is None:
        return False
    with_tools = auditor.prompts.candidates(replace(row, tools=_SOME_TOOL))
    return any(_common_prefix(own, ids) > same for ids in _encoded(with_tools, auditor))


def _common_prefix(one: list[int], other: list[int]) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _difference(auditor: Auditor, own: list[int], ids: list[int], same: int) -> str:
    rendered = f"{_token(auditor, ids[same])} ({len(ids)} tokens)" if same < len(ids) else "more"
    recorded = _token(auditor, own[same]) if same < len(own) else "nothing more"
    before = auditor.tokenization.decode(
        [token_id for token_id in own[max(0, same - _CONTEXT) : same] if token_id >= 0]
    )
    after = f", after {before!r}," if before else ""
    return f"at token {same}{after} the buffer has {recorded}, the rendered prompt {rendered}"


def _token(auditor: Auditor, token_id: int) -> str:
    return f"{auditor.tokenization.decode([token_id])!r} (id {token_id})" if token_id >= 0 else f"id {token_id}"
