"""Stretches of the worst trajectories with their tokens, for people to look at. Made only for the few that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from template_lint.audit.auditor import Auditor
from template_lint.audit.model import Strip, Token, Trajectory
from template_lint.audit.reencoding import Reencoded

if TYPE_CHECKING:
    from numpy import floating
    from numpy.typing import NDArray

_TOKENS = 48
_BEFORE = 12


def drift_strip(row: Trajectory, again: Reencoded, auditor: Auditor) -> Strip:
    """Around the first token that re-encoding changes."""
    drift = again.drift
    start = max(0, drift.first - _BEFORE)
    what = f"{drift.verdict}: {drift.drifted} of {len(row.ids)} tokens change" + (", as many" if drift.silent else "")
    shorter = len(row.ids) - drift.end
    changed_to = again.ids[drift.first : len(again.ids) - shorter][:_TOKENS]
    return Strip(
        origin=row.origin,
        score=float(drift.drifted),
        what=what,
        length=len(row.ids),
        start=start,
        tokens=_tokens(row, start, auditor, (drift.first, drift.end)),
        again=tuple(zip(changed_to, _texts(auditor, changed_to), strict=True)),
    )


def ratio_strip(row: Trajectory, distance: float, again: Reencoded | None, auditor: Auditor) -> Strip:
    """Around the sampled token at which sampler and trainer are furthest apart."""
    import numpy as np

    d = _log_ratios(row)
    assert d is not None
    worst = int(np.argmax(np.where(np.isnan(d), -1.0, np.abs(d))))
    start = max(0, worst - _BEFORE)
    changed = (again.drift.first, again.drift.end) if again is not None else (0, 0)
    what = f"mean |log ratio| {distance:.3g}, at token {worst} {d[worst]:+.3g} nats"
    return Strip(
        origin=row.origin,
        score=distance,
        what=what,
        length=len(row.ids),
        start=start,
        tokens=_tokens(row, start, auditor, changed),
    )


def _log_ratios(row: Trajectory) -> NDArray[floating] | None:
    """Trainer minus sampler where the mask is 1 and both are known, else NaN."""
    import numpy as np

    if row.logprobs is None or row.trainer_logprobs is None:
        return None
    with np.errstate(invalid="ignore"):
        return np.where(row.mask == 1, row.trainer_logprobs - row.logprobs, np.nan)


def _tokens(row: Trajectory, start: int, auditor: Auditor, changed: tuple[int, int]) -> tuple[Token, ...]:
    import math

    ids = row.ids[start : start + _TOKENS].tolist()
    d = _log_ratios(row)
    made = []
    for offset, (token_id, text) in enumerate(zip(ids, _texts(auditor, ids), strict=True)):
        at = start + offset
        ratio = None if d is None or math.isnan(d[at]) else round(max(-1e3, min(1e3, float(d[at]))), 6)
        made.append(Token(token_id, text, bool(row.mask[at] == 1), ratio, changed[0] <= at < changed[1]))
    return tuple(made)


def _texts(auditor: Auditor, ids: Sequence[int]) -> list[str]:
    known = auditor.known
    size = len(known)
    return auditor.tokenization.decode_batch([[token_id] if 0 <= token_id < size else [] for token_id in ids])
