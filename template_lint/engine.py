"""``check()``: targets -> snapshots -> one job per template in a worker -> Report.

The process that prints never renders: templates run in worker processes that may be stopped or die (see ``workers``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from template_lint.config import Options
from template_lint.errors import CannotCheckError, TemplateLintError
from template_lint.job import Job, jobs_for
from template_lint.model import Report, TargetError, TargetReport, TemplateReport
from template_lint.rendering.profiles import Profile, resolve_profile
from template_lint.snapshot.load import expand_targets, load_snapshot
from template_lint.snapshot.model import Snapshot
from template_lint.target import Target, parse_target
from template_lint.workers import Died, Failed, run_jobs

if TYPE_CHECKING:
    from template_lint.cache import ReportCache
    from template_lint.scenarios.model import Scenario

Progress = Callable[[int, int, str], None]


class _Loaded(NamedTuple):
    """A target and the jobs it makes, or the error that kept us out."""

    target: Target
    snapshot: Snapshot | None
    jobs: list[Job]
    error: TargetError | None


def check(targets: Sequence[str | Target], options: Options, *, progress: Progress | None = None) -> Report:
    """Check every target; the report lists them in the order given, folders expanded in sorted order.

    ``progress`` is called with (done, total, name), first when the work has begun. Raises UsageError for a wrong
    request. A target that cannot be looked at does not stop the others: it carries an error in the report.
    """
    profile = resolve_profile(options.transformers)
    codes = _codes(options)
    conversations = _conversations(options)
    tokenizer = _load(parse_target(options.tokenizer), options, profile) if options.tokenizer else None
    expanded = [part for text in targets for part in expand_targets(parse_target(text))]
    loaded = [_jobs(target, options, profile, codes, conversations, tokenizer) for target in expanded]
    jobs = [job for entry in loaded for job in entry.jobs]
    reports = iter(_run(jobs, options, progress))
    return Report(
        profile=profile.label, targets=[_target_report(entry, [next(reports) for _ in entry.jobs]) for entry in loaded]
    )


def _codes(options: Options) -> tuple[str, ...]:
    if not options.select and not options.ignore:
        return ()
    from template_lint.rules.registry import select

    return tuple(select(options.select, options.ignore))


def _conversations(options: Options) -> list[Scenario]:
    if not options.conversations:
        return []
    from template_lint.scenarios.user import load_conversations

    return [scenario for path in options.conversations for scenario in load_conversations(path)]


def _load(target: Target, options: Options, profile: Profile) -> Snapshot:
    return load_snapshot(target, offline=options.offline, profile_version=profile.version)


def _jobs(
    target: Target,
    options: Options,
    profile: Profile,
    codes: tuple[str, ...],
    conversations: list[Scenario],
    tokenizer: Snapshot | None,
) -> _Loaded:
    try:
        snapshot = _load(target, options, profile)
        jobs = jobs_for(
            snapshot,
            profile,
            codes=codes,
            tokenizer=tokenizer,
            conversations=conversations,
            force_tools="tools" in options.require,
        )
    except CannotCheckError as error:
        return _Loaded(target, None, [], TargetError(kind=error.kind, message=str(error)))
    return _Loaded(target, snapshot, jobs, None)


def _target_report(entry: _Loaded, templates: list[TemplateReport]) -> TargetReport:
    snapshot = entry.snapshot
    return TargetReport(
        target=entry.target.text,
        kind=entry.target.kind.value,
        repo=snapshot.repo if snapshot else entry.target.repo,
        revision=snapshot.revision if snapshot else None,
        files=dict(snapshot.files) if snapshot else {},
        templates=templates,
        error=entry.error,
        anchor=entry.target.pin.anchor if entry.target.pin else None,
        pinned=entry.target.pin is not None,
    )


def _run(jobs: list[Job], options: Options, progress: Progress | None) -> list[TemplateReport]:
    cache = _cache(options)
    results: list[TemplateReport | None] = [None] * len(jobs)
    keys = [cache.key(job) if cache else "" for job in jobs]
    missing: list[int] = []
    for index, key in enumerate(keys):
        results[index] = cache.load(key) if cache else None
        if results[index] is None:
            missing.append(index)
    done = len(jobs) - len(missing)
    if missing:
        started = partial(progress, done, len(jobs), "") if progress else _nothing
        for position, report, lasting in _work([jobs[index] for index in missing], options.jobs, started):
            index = missing[position]
            results[index] = report
            # A worker may die because the machine is short of memory: that says nothing about the template.
            if cache and lasting:
                cache.store(keys[index], report)
            done += 1
            if progress is not None:
                progress(done, len(jobs), jobs[index].copy.file or jobs[index].snapshot.target.text)
    return [report for report in results if report is not None]


def _cache(options: Options) -> ReportCache | None:
    if not options.cache:
        return None
    from template_lint.cache import ReportCache

    return ReportCache()


def _nothing() -> None:
    return None


def _work(jobs: list[Job], processes: int, started: Callable[[], None]) -> Iterable[tuple[int, TemplateReport, bool]]:
    """(index, report, whether the report would be the same again) of every job, as they come."""
    count = processes or processors()
    # By name: this process must not pay for importing what only the workers run.
    inspect, prepare = "template_lint.inspection:inspect_template", "template_lint.inspection:prepare_worker"
    for index, result in run_jobs(inspect, jobs, jobs=count, initializer=prepare, started=started):
        if isinstance(result, Died):
            from template_lint.inspection import stopped_report

            yield index, stopped_report(jobs[index], result.reason), False
        elif isinstance(result, Failed):
            raise InternalError(f"{jobs[index].snapshot.target.text}: {result.error}\n{result.traceback}")
        else:
            yield index, result, True


class InternalError(TemplateLintError):
    """A rule raised: our defect, not the template's. Never exit 1."""

    kind = "internal"


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
