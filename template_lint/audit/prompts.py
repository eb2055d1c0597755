"""TLA11: does a buffer begin with the ids of its own prompt, rendered from its messages?"""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.audit.auditor import Auditor
from template_lint.audit.invariants import PROMPT
from template_lint.audit.model import Flaw
from template_lint.audit.rendered import Prompt


def prompt_flaw(own: list[int], candidates: Iterator[Prompt], first: list[int], auditor: Auditor) -> Flaw | None:
    """What is wrong with a buffer of ids ``own``; None if it begins with one of the prompts.

    ``first`` are the ids of the first prompt, which has been taken from ``candidates`` already.
    """
    best: tuple[int, list[int]] | None = None
    ids: list[int] | None = first
    while ids is not None:
        if own[: len(ids)] == ids:
            return None
        same = _common_prefix(own, ids)
        if best is None or same > best[0]:
            best = same, ids
        following = next(candidates, None)
        ids = None if following is None else auditor.encoder.encode_batch([following.cut])[0]
    assert best is not None
    same, ids = best
    return Flaw(PROMPT, _difference(auditor, own, ids, same), min(same, len(own) - 1))


def _common_prefix(one: list[int], other: list[int]) -> int:
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _difference(auditor: Auditor, own: list[int], ids: list[int], same: int) -> str:
    rendered = f"{_token(auditor, ids[same])} ({len(ids)} tokens)" if same < len(ids) else "more"
    recorded = _token(auditor, own[same]) if same < len(own) else "nothing more"
    return f"at token {same} the buffer has {recorded}, the rendered prompt {rendered}"


def _token(auditor: Auditor, token_id: int) -> str:
    return f"{auditor.tokenization.decode([token_id])!r} (id {token_id})" if token_id >= 0 else f"id {token_id}"
