"""The audit itself: trajectories -> results and ratio sums. Pure: the same trajectories give the same, in any company.

``audit_many`` is the fast way, ``audit_one`` the same for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from template_lint.audit.auditor import Auditor
from template_lint.audit.batch import Batch
from template_lint.audit.causes import CAUSES, GREEDY, MISPLACED, UNEXPLAINED, diagnose, diagnose_recorded
from template_lint.audit.causes import LOGITS as UNNORMALISED
from template_lint.audit.health import Health, measure
from template_lint.audit.invariants import (
    BOS,
    FOREIGN,
    IN_PROMPT,
    NOTHING,
    OUTSIDE,
    PROMPT,
    UNEQUAL,
    UNFINISHED,
    UNREACHABLE,
    Found,
    flaws_of,
    length_flaw,
)
from template_lint.audit.model import Diagnosis, Trajectory, TrajectoryResult
from template_lint.audit.prompts import prompt_flaw
from template_lint.audit.reencoding import Reencoded, reencode
from template_lint.audit.rendered import Prompt

_ALONE = (GREEDY, UNNORMALISED, MISPLACED)
_OF_MASK = (IN_PROMPT, UNFINISHED, FOREIGN)


class Audited(NamedTuple):
    """Results in the order of the trajectories, the ratios of all their tokens, and what re-encoding gave."""

    results: list[TrajectoryResult]
    health: Health
    again: list[Reencoded | None]


def audit_one(trajectory: Trajectory, auditor: Auditor) -> TrajectoryResult:
    """The result for one trajectory."""
    return audit_many([trajectory], auditor).results[0]


def audit_many(trajectories: Sequence[Trajectory], auditor: Auditor) -> Audited:
    """The results for any number of trajectories; some hundred at once are fastest."""
    health = Health()
    results: list[TrajectoryResult | None] = []
    again: list[Reencoded | None] = [None] * len(trajectories)
    whole = []
    for index, row in enumerate(trajectories):
        flaw = length_flaw(row)
        if flaw is None:
            whole.append(index)
            results.append(None)
        else:
            sampled = int((row.mask == 1).sum())
            results.append(TrajectoryResult(row.origin, len(row.ids), sampled, flaws=(flaw,), asked=(UNEQUAL, NOTHING)))
    if whole:
        _audit_whole([trajectories[index] for index in whole], whole, auditor, health, results, again)
    return Audited([result for result in results if result is not None], health, again)


def _audit_whole(
    rows: list[Trajectory],
    places: list[int],
    auditor: Auditor,
    health: Health,
    results: list[TrajectoryResult | None],
    again: list[Reencoded | None],
) -> None:
    batch = Batch(rows)
    found = flaws_of(batch, auditor)
    ratios = measure(batch, health)
    codable = [
        index
        for index, flaws in enumerate(found.flaws)
        if not any(flaw.rule in (OUTSIDE, UNREACHABLE) for flaw in flaws)
    ]
    candidates = _candidates(rows, found, auditor)
    likely = {index: first for index, prompts in candidates.items() if (first := next(prompts, None)) is not None}
    encoded = reencode(rows, codable, likely, auditor)
    for index, row in enumerate(rows):
        flaws, asked = found.flaws[index], found.asked[index]
        note, prompt = "", encoded.prompts.get(index)
        if prompt is not None:
            flaw = prompt_flaw(row, encoded.ids[index], candidates[index], prompt, auditor)
            if isinstance(flaw, str):
                note = flaw
            else:
                asked.append(PROMPT)
                flaws += [flaw] if flaw is not None else []
        back = encoded.again.get(index)
        drift = None if back is None else back.drift
        diagnosis: Diagnosis | None = diagnose(row, drift) if ratios.suspicious[index] else None
        if diagnosis is not None and diagnosis.cause == UNEXPLAINED and any(flaw.rule in _OF_MASK for flaw in flaws):
            diagnosis = diagnose_recorded(row, drift)
        if row.logprobs is not None:
            asked += CAUSES if row.trainer_logprobs is not None else _ALONE
        compared = int(ratios.counts[index]) > 0
        again[places[index]] = back
        results[places[index]] = TrajectoryResult(
            origin=row.origin,
            tokens=len(row.ids),
            sampled=int(batch.sampled_counts[index]),
            flaws=tuple(flaws),
            asked=tuple(asked),
            drift=drift,
            sequence_log_ratio=float(ratios.sums[index]) if compared else None,
            mean_log_distance=float(ratios.distances[index]) if compared else None,
            diagnosis=diagnosis,
            stranger=found.strangers[index],
            note=note,
        )


def _candidates(rows: Sequence[Trajectory], found: Found, auditor: Auditor) -> dict[int, Iterator[Prompt]]:
    """The prompts that a row may begin with, by its index. A second BOS is why a prompt differs: that is said once."""
    if auditor.prompts is None:
        return {}
    return {
        index: auditor.prompts.candidates(row)
        for index, row in enumerate(rows)
        if row.messages is not None and not any(flaw.rule == BOS for flaw in found.flaws[index])
    }
