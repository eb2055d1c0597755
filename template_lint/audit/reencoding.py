"""Drift of many buffers at once: decode and encode all, compare, and look closely only at those that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from template_lint.audit.auditor import Auditor
from template_lint.audit.encoding import CutText
from template_lint.audit.model import DriftResult, Trajectory
from template_lint.audit.rendered import Prompt
from template_lint.errors import CannotCheckError
from template_lint.tito.drift import Verdict, compare
from template_lint.tokenization import Tokenization

CLEAN = DriftResult(Verdict.CLEAN.value)


class Reencoded(NamedTuple):
    """A drift and the ids that came back; those are empty for CLEAN, which gives the ids themselves."""

    drift: DriftResult
    ids: list[int]


class Encoded(NamedTuple):
    """By index of the row: its ids, its drift if it could be decoded, the ids of its first prompt if it has one."""

    ids: list[list[int]]
    again: dict[int, Reencoded | None]
    prompts: dict[int, list[int]]


def reencode(
    rows: Sequence[Trajectory], codable: Sequence[int], prompts: Mapping[int, Prompt], auditor: Auditor
) -> Encoded:
    """The drift of the rows ``codable``, and the ids of ``prompts``; both are indexed by row.

    All ids of codable rows must be in the vocabulary. A drift is None where the tokenizer's tokens have no bytes of
    their own and ids changed. A buffer that begins with its prompt is encoded from the prompt's last turn on.
    """
    tokenization, encoder = auditor.tokenization, auditor.encoder
    ids = [row.ids.tolist() for row in rows]
    texts = tokenization.decode_batch([ids[index] for index in codable])
    encoded = encoder.encode_batch([_cut(text, prompts.get(index)) for index, text in zip(codable, texts, strict=True)])
    again: dict[int, Reencoded | None] = {}
    for index, text, back in zip(codable, texts, encoded, strict=True):
        clean = back == ids[index]
        again[index] = Reencoded(CLEAN, []) if clean else _changed(rows[index], ids[index], text, back, tokenization)
    # Second, because what a buffer has in common with its prompt is remembered now.
    of_prompts = encoder.encode_batch([prompt.cut for prompt in prompts.values()])
    return Encoded(ids, again, dict(zip(prompts, of_prompts, strict=True)))


def _cut(text: str, prompt: Prompt | None) -> CutText:
    """A decoded buffer, cut as its prompt is, and not behind the last place at which that may be cut."""
    if prompt is None or prompt.text is None or len(prompt.cut.known) < 2 or not text.startswith(prompt.text):
        return CutText((), text)
    known = prompt.cut.known[:-1]
    return CutText(known, text[sum(map(len, known)) :])


def _changed(
    row: Trajectory, ids: list[int], text: str, again: list[int], tokenization: Tokenization
) -> Reencoded | None:
    try:
        drift = compare(tokenization, ids, (row.mask == 1).tolist(), text, again)
    except CannotCheckError:
        return None
    assert drift.first is not None
    result = DriftResult(
        verdict=drift.verdict.value,
        drifted=drift.drifted,
        silent=drift.same_length,
        straddling=len(drift.straddling),
        mismatch=drift.mismatch.value if drift.mismatch else None,
        first=drift.first,
        end=len(ids) - _common_tail(ids, again, drift.first),
    )
    return Reencoded(result, again)


def _common_tail(one: list[int], other: list[int], first: int) -> int:
    most = min(len(one), len(other)) - first
    return next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
