"""``check()``: targets -> snapshots -> one job per template in a worker -> Report.

The process that prints never renders: templates run in worker processes that may be stopped or die (see ``workers``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from template_lint.config import Options, TargetSpec
from template_lint.curation import Asked, asked_codes, curate
from template_lint.errors import CannotCheckError, TemplateLintError
from template_lint.job import Job, jobs_for
from template_lint.model import Finding, Report, TargetError, TargetReport, TemplateReport
from template_lint.rendering.profiles import resolve_profile
from template_lint.snapshot.load import expand_targets, load_snapshot, load_snapshots
from template_lint.snapshot.model import Snapshot
from template_lint.target import Target, parse_target
from template_lint.workers import Died, Failed, run_jobs

if TYPE_CHECKING:
    from template_lint.cache import ReportCache
    from template_lint.scenarios.model import Scenario
    from template_lint.snapshot.exclude import Excluder

Progress = Callable[[int, int, str], None]


class _Loaded(NamedTuple):
    """A target and the jobs it makes, or the error that kept us out. ``specs`` are what is known of it, the most
    general first.
    """

    target: Target
    specs: tuple[TargetSpec, ...]
    snapshot: Snapshot | None
    jobs: list[Job]
    error: TargetError | None


class _Request:
    """One run's request, resolved: what all its targets share, each thing loaded once."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.profile = resolve_profile(options.transformers)
        self.codes = asked_codes(options)
        self.specs = [(spec, parse_target(spec.target)) for spec in options.targets]
        self.excluded = _excluder(options)
        self._conversations: dict[Path, list[Scenario]] = {}
        self._tokenizers: dict[str, Snapshot] = {}

    def load(self, target: Target) -> Snapshot:
        return load_snapshot(target, offline=self.options.offline, profile_version=self.profile.version)

    def tokenizer(self, text: str | None) -> Snapshot | None:
        if text is None:
            return None
        if text not in self._tokenizers:
            self._tokenizers[text] = self.load(parse_target(text))
        return self._tokenizers[text]

    def conversations(self, paths: Iterable[Path]) -> list[Scenario]:
        found: list[Scenario] = []
        for path in dict.fromkeys(paths):
            if path not in self._conversations:
                from template_lint.scenarios.user import load_conversations

                self._conversations[path] = load_conversations(path)
            found += self._conversations[path]
        return found

    def specs_of(self, target: Target) -> tuple[TargetSpec, ...]:
        return _fitting(target, self.specs)

    def asked(self, loaded: list[_Loaded], targets: Sequence[str | Target]) -> Asked:
        named = {parse_target(target).text for target in targets}
        return Asked(
            self.options,
            self.codes,
            [entry.specs for entry in loaded],
            [spec for spec, _ in self.specs if spec.target in named],
            [_parts(entry.target, self.specs) for entry in loaded] if self.specs else (),
        )


def check(targets: Sequence[str | Target], options: Options, *, progress: Progress | None = None) -> Report:
    """Check every target; the report lists them in the order given, folders expanded in sorted order.

    ``progress`` is called with (done, total, name), first when the work has begun. Raises UsageError for a wrong
    request. A target that cannot be looked at does not stop the others: it carries an error in the report.
    """
    run = _Request(options)
    # A wrong one is a wrong request, not a fault of some target.
    run.conversations(options.conversations)
    run.tokenizer(options.tokenizer)
    expanded = [part for target in targets for part in _expand(parse_target(target), run)]
    offline, version = options.offline, run.profile.version
    snapshots = load_snapshots(expanded, offline=offline, profile_version=version, progress=progress)
    loaded = [_jobs(target, found, run) for target, found in zip(expanded, snapshots, strict=True)]
    jobs = [job for entry in loaded for job in entry.jobs]
    reports = iter(_run(jobs, options, progress))
    found = Report(
        profile=run.profile.label,
        targets=[_target_report(entry, [next(reports) for _ in entry.jobs], run) for entry in loaded],
        excluded=run.excluded.count if run.excluded is not None else 0,
        statistics=options.statistics,
    )
    return curate(found, run.asked(loaded, targets))


def specs_for(target: Target, specs: Iterable[TargetSpec]) -> tuple[TargetSpec, ...]:
    """What a configuration says of a target, the most general first."""
    return _fitting(target, [(spec, parse_target(spec.target)) for spec in specs])


def _fitting(target: Target, specs: Iterable[tuple[TargetSpec, Target]]) -> tuple[TargetSpec, ...]:
    fitting = [(size, spec) for spec, named in specs if (size := _fits(named, target)) is not None]
    return tuple(spec for _, spec in sorted(fitting, key=lambda pair: pair[0]))


def _parts(target: Target, specs: Iterable[tuple[TargetSpec, Target]]) -> dict[str, list[TargetSpec]]:
    """What a configuration says of single files of a folder, by their path in it."""
    found: dict[str, list[TargetSpec]] = {}
    for spec, named in specs:
        if spec.ignore and named.path is not None and target.path is not None and named.path != target.path:
            there, here = (Path(os.path.normpath(path.absolute())) for path in (named.path, target.path))
            if there.is_relative_to(here) and there != here:
                found.setdefault(there.relative_to(here).as_posix(), []).append(spec)
    return found


def _excluder(options: Options) -> Excluder | None:
    if not options.exclude:
        return None
    from template_lint.snapshot.exclude import Excluder

    return Excluder(options.exclude, options.exclude_root)


def _expand(target: Target, run: _Request) -> list[Target]:
    if run.excluded is not None and run.options.force_exclude and target.path is not None and run.excluded(target.path):
        return []
    return expand_targets(target, run.excluded)


def _fits(named: Target, target: Target) -> int | None:
    """How closely a target of the configuration fits one that is checked; None where it does not."""
    if named.repo is not None:
        same = named.repo == target.repo and named.revision in (None, target.revision)
        return int(named.revision is not None) if same else None
    if named.path is None or target.path is None:
        return None
    there, here = Path(os.path.normpath(named.path.absolute())), Path(os.path.normpath(target.path.absolute()))
    return len(there.parts) if here.is_relative_to(there) else None


def _jobs(target: Target, snapshot: Snapshot | CannotCheckError, run: _Request) -> _Loaded:
    options, specs = run.options, run.specs_of(target)
    named = [spec.tokenizer for spec in specs if spec.tokenizer is not None]
    require = options.require.union(*(spec.require for spec in specs))
    conversations = run.conversations([*options.conversations, *(p for spec in specs for p in spec.conversations)])
    try:
        if isinstance(snapshot, CannotCheckError):
            raise snapshot
        jobs = jobs_for(
            snapshot,
            run.profile,
            codes=run.codes,
            tokenizer=run.tokenizer(named[-1] if named else options.tokenizer),
            conversations=conversations,
            force_tools="tools" in require,
            display=options.display,
            # It costs more than all that the source shows: only who selects the rule gets it.
            compare_engines=bool(options.select) and "TL702" in run.codes,
        )
    except CannotCheckError as error:
        return _Loaded(target, specs, None, [], TargetError(kind=error.kind, message=str(error)))
    return _Loaded(target, specs, snapshot, jobs, None)


def _target_report(entry: _Loaded, templates: list[TemplateReport], run: _Request) -> TargetReport:
    snapshot = entry.snapshot
    anchors = [spec.anchor for spec in entry.specs if spec.anchor is not None]
    return TargetReport(
        target=entry.target.text,
        kind=entry.target.kind.value,
        repo=snapshot.repo if snapshot else entry.target.repo,
        revision=snapshot.revision if snapshot else None,
        files=dict(snapshot.files) if snapshot else {},
        templates=templates,
        error=entry.error,
        findings=_about_the_pin(entry, run),
        anchor=entry.target.pin.anchor if entry.target.pin else anchors[-1] if anchors else None,
        pinned=entry.target.pin is not None,
    )


def _about_the_pin(entry: _Loaded, run: _Request) -> list[Finding]:
    """TL606 for a Hub target that was looked at and whose revision may move."""
    target, snapshot = entry.target, entry.snapshot
    if target.repo is None or snapshot is None or target.revision not in (None, "main"):
        return []
    if target.pin is not None or target.repo in run.options.locked:
        return []
    from template_lint.rules.tl6_drift.tl606_unpinned import Unpinned

    if run.codes and Unpinned.code not in run.codes:
        return []
    return [Unpinned().about(target.repo, target.revision, snapshot.revision)]


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
