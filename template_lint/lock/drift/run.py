"""``compare()``: pairs of sides -> workers -> DriftReport. Renders nothing in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from template_lint.errors import CannotCheckError, TemplateLintError
from template_lint.lock.drift.judge import judge, unreadable
from template_lint.lock.drift.model import DriftReport, FileChange, PairResult
from template_lint.lock.drift.sides import Kind, Pair, job_of
from template_lint.lock.drift.work import NotCompared, PairJob
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.model import Snapshot
from template_lint.target import TargetKind
from template_lint.workers import Died, Failed, run_jobs

Progress = Callable[[int, int, str], None]


class _Planned(NamedTuple):
    """What one pair asks of workers, and what is known without them."""

    pair: Pair
    files: list[FileChange]
    jobs: list[PairJob]
    unmatched: list[str]
    unchecked: list[str]


class InternalError(TemplateLintError):
    """The comparison raised: our defect, not the template's. Never exit 1."""

    kind = "internal"


def compare(
    pairs: Sequence[Pair],
    *,
    conversations: Sequence[Scenario] = (),
    processes: int = 1,
    progress: Progress | None = None,
) -> DriftReport:
    """Compare every pair; the report keeps their order. A side that could not be read does not stop the others.

    ``conversations`` are the user's own. ``progress`` is called with (done, total, name) as pairs are compared.
    """
    planned = [_plan(pair, list(conversations)) for pair in pairs]
    jobs = [job for plan in planned for job in plan.jobs]
    names = [plan.pair.name for plan in planned for _ in plan.jobs]
    results: dict[int, Any] = {}
    compare_pair = "template_lint.lock.drift.work:compare_pair"
    prepare = "template_lint.inspection:prepare_worker"
    for index, result in run_jobs(compare_pair, jobs, jobs=processes, initializer=prepare) if jobs else ():
        if isinstance(result, Failed):
            raise InternalError(f"{names[index]}: {result.error}\n{result.traceback}")
        results[index] = NotCompared("stopped", result.reason) if isinstance(result, Died) else result
        if progress is not None:
            progress(len(results), len(jobs), names[index])
    answers = iter([results[index] for index in range(len(jobs))])
    drifts = []
    for plan in planned:
        drifts.append(unreadable(plan.pair) or _judged(plan, [next(answers) for _ in plan.jobs]))
    return DriftReport(tuple(drifts))


def _judged(plan: _Planned, results: list[PairResult | NotCompared]) -> Any:
    templates, unchecked = [], list(plan.unchecked)
    tokenizer = None
    for job, result in zip(plan.jobs, results, strict=True):
        if isinstance(result, NotCompared):
            unchecked.append(f"template {job.after.copy.name}: {result.message}")
            continue
        templates.append(result.template)
        tokenizer = result.tokenizer or tokenizer
        skipped = result.template.prompts.ids_skipped
        if skipped is not None and f"token ids: {skipped}" not in unchecked:
            unchecked.append(f"token ids: {skipped}")
    return judge(plan.pair, plan.files, templates, plan.unmatched, tokenizer, unchecked)


def _plan(pair: Pair, conversations: list[Scenario]) -> _Planned:
    one, other = pair.before.snapshot, pair.after.snapshot
    if one is None or other is None:
        return _Planned(pair, [], [], [], [])
    files = file_changes(one, other)
    if pair.kind is not Kind.VERSIONS and one.files and not files:
        return _Planned(pair, [], [], [], [])
    names, unmatched = _names(one, other)
    jobs: list[PairJob] = []
    unchecked: list[str] = []
    for before_name, after_name in names:
        try:
            jobs.append(
                PairJob(
                    before=job_of(pair.before, before_name, conversations),
                    after=job_of(pair.after, after_name, conversations),
                    names=(f"{pair.before.info.word}/{before_name}", f"{pair.after.info.word}/{after_name}"),
                    with_tokenizer=not jobs,
                    patch=pair.patches[before_name].name if before_name in pair.patches else None,
                    patch_sha256=pair.patches[before_name].sha256 if before_name in pair.patches else None,
                )
            )
        except CannotCheckError as error:
            unchecked.append(str(error))
    if not names and not unmatched:
        unchecked.append(f"neither side has a chat template: {one.selection_error or 'none was found'}")
    return _Planned(pair, files, jobs, unmatched, unchecked)


def _names(one: Snapshot, other: Snapshot) -> tuple[list[tuple[str, str]], list[str]]:
    """The templates of both sides by name, and those that only one side has. A single one on each side is a pair."""
    before, after = ([copy.name for copy in snapshot.templates] for snapshot in (one, other))
    if len(before) == len(after) == 1:
        return [(before[0], after[0])], []
    both = [(name, name) for name in before if name in after]
    return both, sorted(set(before) ^ set(after))


def file_changes(one: Snapshot, other: Snapshot) -> list[FileChange]:
    """The files whose sha256 differs, by path. Two single files are one file under two names."""
    kinds = {one.target.kind, other.target.kind}
    if kinds <= {TargetKind.FILE, TargetKind.STDIN} and len(one.files) == len(other.files) == 1:
        [(before, before_sha)], [(after, after_sha)] = one.files.items(), other.files.items()
        path = before if before == after else f"{before} -> {after}"
        return [FileChange(path, before_sha, after_sha)] if before_sha != after_sha else []
    return [
        FileChange(path, one.files.get(path), other.files.get(path))
        for path in sorted(one.files.keys() | other.files.keys())
        if one.files.get(path) != other.files.get(path)
    ]
