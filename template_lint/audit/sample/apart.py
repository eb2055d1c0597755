"""Samples made in a worker, because making one renders the target's template."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from template_lint.audit.auditor import AuditOptions, auditor_for
from template_lint.audit.fields import preset
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.sample.plants import PLANTS
from template_lint.errors import CannotCheckError, UsageError
from template_lint.workers import Died, Failed, run_jobs

_ROWS = 200


class Part(NamedTuple):
    """Rows [start, end) of a sample of ``total`` rows."""

    options: AuditOptions
    start: int
    end: int
    total: int
    seed: int
    rate: float
    names: tuple[str, ...] | None


def sample_lines(
    target: str,
    count: int,
    seed: int,
    rate: float,
    names: Sequence[str] | None,
    *,
    transformers: str | None = None,
    offline: bool = False,
) -> Iterator[str]:
    """Yield the JSON lines of a sample, many at a time. ``names``: which defects to plant (see ``plants``), None: all.

    Raises UsageError for an unknown defect, CannotCheckError for a target that no sample can be made of.
    """
    for name in names or ():
        if name not in PLANTS:
            near = difflib.get_close_matches(name, PLANTS, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Defects: {', '.join(PLANTS)}."
            raise UsageError(f"unknown defect {name!r}. {hint}")
    options = AuditOptions(target, preset("template-lint"), transformers=transformers, offline=offline)
    chosen = None if names is None else tuple(names)
    parts = [
        Part(options, start, min(start + _ROWS, count), count, seed, rate, chosen) for start in range(0, count, _ROWS)
    ]
    prepare = "template_lint.audit.run:prepare_worker"
    for _, result in run_jobs("template_lint.audit.sample.apart:sample_part", parts, jobs=1, initializer=prepare):
        if isinstance(result, (UsageError, CannotCheckError)):
            raise result
        if isinstance(result, Died):
            raise CannotCheckError(f"making the sample took its process down: {result.reason}.", kind="render")
        if isinstance(result, Failed):
            raise RuntimeError(f"{result.error}\n{result.traceback}")
        yield result


def sample_part(part: Part) -> str | UsageError | CannotCheckError:
    """The lines of one part. What is the user's fault is returned."""
    from template_lint.rendering.limits import Limits, arm_process

    try:
        auditor = auditor_for(part.options)
        if not Limits.armed:
            arm_process()
        rows = make_sample(
            auditor, part.total, seed=part.seed, rate=part.rate, plants=part.names, start=part.start, end=part.end
        )
        return "".join(dump(row) + "\n" for row in rows)
    except (UsageError, CannotCheckError) as error:
        return error
