"""Drift of many buffers at once: decode and encode all, compare, and look closely only at those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from template_lint.audit.auditor import Auditor
from template_lint.audit.model import DriftResult, Trajectory
from template_lint.errors import CannotCheckError
from template_lint.tito.drift import Verdict, compare

CLEAN = DriftResult(Verdict.CLEAN.value)


class Reencoded(NamedTuple):
    """A drift and the ids that came back; those are empty for CLEAN, which gives the ids themselves."""

    drift: DriftResult
    ids: list[int]


def reencode(rows: Sequence[Trajectory], auditor: Auditor) -> list[Reencoded | None]:
    """The drift of every row, in order; None where the tokenizer's tokens have no bytes of their own and ids changed.

    All ids must be in the vocabulary.
    """
    tokenization = auditor.tokenization
    lists = [row.ids.tolist() for row in rows]
    texts = tokenization.decode_batch(lists)
    encoded = tokenization.encode_batch(texts)
    results: list[Reencoded | None] = []
    for row, ids, text, again in zip(rows, lists, texts, encoded, strict=True):
        if again == ids:
            results.append(Reencoded(CLEAN, []))
            continue
        try:
            drift = compare(tokenization, ids, (row.mask == 1).tolist(), text, again)
        except CannotCheckError:
            results.append(None)
            continue
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
        results.append(Reencoded(result, again))
    return results


def _common_tail(one: list[int], other: list[int], first: int) -> int:
    most = min(len(one), len(other)) - first
    return next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
