"""Targets -> observations: load them, render in workers, take the report and the fingerprints of every template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from template_lint.errors import CannotCheckError, TemplateLintError
from template_lint.lock.model import Observation, Prompts
from template_lint.lock.prompts import prompts_of
from template_lint.model import TargetError, TargetReport, TemplateReport
from template_lint.snapshot.load import load_snapshots
from template_lint.snapshot.model import Snapshot
from template_lint.target import Target, TargetKind

if TYPE_CHECKING:
    from template_lint.job import Job
    from template_lint.rendering.profiles import Profile

Progress = Callable[[int, int, str], None]
_NO_RULES = ("none",)


class _Loaded(NamedTuple):
    target: Target
    snapshot: Snapshot | None
    jobs: list[Job]
    error: TargetError | None


def observe(
    targets: Sequence[Target],
    profile: Profile,
    *,
    rules: Sequence[str] | None = None,
    offline: bool = False,
    processes: int = 0,
    progress: Progress | None = None,
) -> list[Observation]:
    """Look at every target, in the order given.

    ``rules`` are the codes of the rules to run: None is every rule, empty is none, which is faster and gives the same
    verdicts and fingerprints. ``processes`` is the number of workers, 0 one per processor. A target that cannot be
    looked at does not stop the others: its report carries the error.
    """
    codes = () if rules is None else tuple(rules) or _NO_RULES
    snapshots = load_snapshots(targets, offline=offline, profile_version=profile.version, progress=progress)
    loaded = [_loaded(target, found, profile, codes) for target, found in zip(targets, snapshots, strict=True)]
    jobs = [job for entry in loaded for job in entry.jobs]
    results = iter(_results(jobs, processes, progress))
    return [_observation(entry, [next(results) for _ in entry.jobs]) for entry in loaded]


def _loaded(target: Target, found: Snapshot | CannotCheckError, profile: Profile, codes: tuple[str, ...]) -> _Loaded:
    from template_lint.job import jobs_for

    try:
        if isinstance(found, CannotCheckError):
            raise found
        return _Loaded(target, found, jobs_for(found, profile, codes=codes), None)
    except CannotCheckError as error:
        return _Loaded(target, None, [], TargetError(kind=error.kind, message=str(error)))


def observe_template(job: Job) -> tuple[TemplateReport, Prompts | None]:
    """What a worker does: the report of one template, and its fingerprints where it compiles."""
    from template_lint.inspection import exhausted_report, facts_of, inspect_facts, is_healthy

    try:
        facts = facts_of(job)
        report = inspect_facts(job, facts)
        return report, prompts_of(facts) if is_healthy(facts) else None
    except MemoryError:
        return exhausted_report(job), None


def _results(jobs: list[Job], processes: int, progress: Progress | None) -> list[tuple[TemplateReport, Prompts | None]]:
    from template_lint.engine import processors
    from template_lint.inspection import stopped_report
    from template_lint.workers import Died, Failed, run_jobs

    results: dict[int, tuple[TemplateReport, Prompts | None]] = {}
    work, prepare = "template_lint.lock.observing:observe_template", "template_lint.inspection:prepare_worker"
    for index, result in run_jobs(work, jobs, jobs=processes or processors(), initializer=prepare):
        if isinstance(result, Failed):
            raise TemplateLintError(f"{jobs[index].snapshot.target.text}: {result.error}\n{result.traceback}")
        results[index] = (stopped_report(jobs[index], result.reason), None) if isinstance(result, Died) else result
        if progress is not None:
            progress(len(results), len(jobs), jobs[index].snapshot.target.text)
    return [results[index] for index in range(len(jobs))]


def _observation(entry: _Loaded, results: list[tuple[TemplateReport, Prompts | None]]) -> Observation:
    target, snapshot = entry.target, entry.snapshot
    report = TargetReport(
        target=target.text,
        kind=target.kind.value,
        repo=snapshot.repo if snapshot else target.repo,
        revision=snapshot.revision if snapshot else None,
        files=dict(snapshot.files) if snapshot else {},
        templates=[template for template, _ in results],
        error=entry.error,
    )
    requested = (target.revision or "main") if target.kind is TargetKind.HUB else None
    prompts = {template.name: found for template, found in results if found is not None}
    return Observation(report=report, snapshot=snapshot, prompts=prompts, requested=requested)
