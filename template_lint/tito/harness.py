"""``run()``: plays every scenario with a target's template and tokenizer, checks the buffers, measures the drift.

The answer to: is the buffer of a loop that never re-encodes exactly right here, and what would re-encoding do?
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from template_lint.errors import CannotCheckError, TemplateSelectionError, UsageError
from template_lint.facts import TemplateFacts
from template_lint.facts.divergences import token_divergence
from template_lint.facts.prefix import Appended
from template_lint.facts.verdict import verdict_of
from template_lint.model import Verdict
from template_lint.rendering.limits import trusted_memory
from template_lint.rendering.profiles import Profile, installed_profile, resolve_profile
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import Target, parse_target
from template_lint.tito.checks import run_checks
from template_lint.tito.deltas import PREFIX_RULES
from template_lint.tito.drift_report import drift_report
from template_lint.tito.engines import Engine, MirrorEngine
from template_lint.tito.evidence import REMEDIES, Check, Status, prepare
from template_lint.tito.live_engine import TransformersFacts, load_transformers
from template_lint.tito.report import TemplateTito, TitoReport
from template_lint.tito.simulate import Playwright, Script
from template_lint.tokenization import Tokenization, load_tokenization
from template_lint.workers import Died, Failed, run_jobs

ENGINES = ("mirror", "transformers")


class TitoOptions(NamedTuple):
    """Everything that can change a report, as on the command line. No ``scenarios`` means all."""

    tokenizer: str | None = None
    seed: int = 0
    segmentations: int = 32
    engine: str = "mirror"
    transformers: str | None = None
    scenarios: tuple[str, ...] = ()
    conversations: tuple[Path, ...] = ()
    offline: bool = False


class TitoJob(NamedTuple):
    """One template, the snapshot whose tokenizer serves it, and what a template is handed. Can be pickled."""

    copy: TemplateCopy
    snapshot: Snapshot
    tokenizer: Snapshot
    profile: Profile
    variables: dict[str, Any]
    conversations: list[Scenario]
    options: TitoOptions


def run(target: str | Target, options: TitoOptions = TitoOptions(), **changes: Any) -> TitoReport:  # noqa: B008  (immutable)
    """Play and check every template of a target; ``changes`` are fields of TitoOptions.

    Templates run in a worker, bounded in time and memory. The report is the same for the same files, options and
    versions. Raises UsageError for a wrong request and CannotCheckError or TemplateSelectionError for a target without
    a template or a tokenizer.
    """
    options = options._replace(**changes)
    profile = _profile(options)
    parsed = target if isinstance(target, Target) else parse_target(target)
    snapshot = load_snapshot(parsed, offline=options.offline, profile_version=profile.version)
    if not snapshot.templates:
        reason = snapshot.selection_error or "it has no chat template"
        raise TemplateSelectionError(f"{parsed.text}: {reason}. Name a target with a chat template.")
    donor = snapshot
    if options.tokenizer is not None:
        donor = load_snapshot(parse_target(options.tokenizer), offline=options.offline, profile_version=profile.version)
    if donor.tokenizer is None:
        reason = donor.tokenizer_missing or "it has no tokenizer"
        raise CannotCheckError(f"{parsed.text}: {reason}. Give --tokenizer TARGET.", kind="no-tokenizer")
    variables = special_tokens(snapshot, profile.version) or special_tokens(donor, profile.version)
    conversations = _conversations(options)
    jobs = [TitoJob(copy, snapshot, donor, profile, variables, conversations, options) for copy in snapshot.templates]
    return TitoReport(
        target=parsed.text,
        repo=snapshot.repo,
        revision=snapshot.revision,
        engine=options.engine,
        profile=profile.label,
        seed=options.seed,
        segmentations=options.segmentations,
        templates=_work(jobs),
    )


def _profile(options: TitoOptions) -> Profile:
    if options.engine not in ENGINES:
        raise UsageError(f"--engine {options.engine}: write one of {', '.join(ENGINES)}.")
    profile = resolve_profile(options.transformers)
    if options.engine == "transformers" and profile != installed_profile():
        raise UsageError(
            f"--engine transformers runs the installed version, {installed_profile().label}, not {profile.label}. "
            "Leave --transformers out, or use --engine mirror."
        )
    return profile


def _conversations(options: TitoOptions) -> list[Scenario]:
    if not options.conversations:
        return []
    from template_lint.scenarios.user import load_conversations

    return [scenario for path in options.conversations for scenario in load_conversations(path)]


def _work(jobs: list[TitoJob]) -> list[TemplateTito]:
    reports: dict[int, TemplateTito] = {}
    for index, result in run_jobs(_examine, jobs, jobs=1, initializer="template_lint.rendering.limits:arm_process"):
        if isinstance(result, Died):
            reports[index] = _unchecked(
                jobs[index].copy.name,
                jobs[index].copy.file or None,
                f"rendering took its process down: {result.reason}",
            )
        elif isinstance(result, Failed):
            raise RuntimeError(f"{result.error}\n{result.traceback}")
        elif isinstance(result, Exception):
            raise result
        else:
            reports[index] = result
    return [reports[index] for index in range(len(jobs))]


def _unchecked(name: str, file: str | None, problem: str) -> TemplateTito:
    return TemplateTito(name, file, Verdict(tito="unrenderable"), {}, problem=problem)


def _examine(job: TitoJob) -> TemplateTito | UsageError | CannotCheckError:
    try:
        return examine(*load(job), job.options)
    except (UsageError, CannotCheckError) as error:
        return error


def examine(facts: TemplateFacts, engine: Engine, options: TitoOptions) -> TemplateTito:
    """Play and check one template in this process. Raises CannotCheckError for a tokenizer without bytes."""
    error = facts.compile_error
    if error is not None:
        return _unchecked(facts.name, facts.file, f"the template does not compile: {error.error}: {error.message}")
    playwright = Playwright(engine)
    chosen = _chosen(facts.scenarios, options.scenarios)
    scripts = [playwright.write(scenario) for scenario in chosen]
    rollouts = prepare(engine, scripts, tools_matter=facts.static.reads_tools)
    verdict = verdict_of(facts)
    checks = [_with_prefix_questions(facts, verdict, check) for check in run_checks(rollouts)]
    with trusted_memory():  # what follows runs no template
        drift, ratio, texts = drift_report(engine, scripts, seed=options.seed, segmentations=options.segmentations)
    played = sum(bool(script.turns) for script in scripts)
    return TemplateTito(
        name=facts.name,
        file=facts.file,
        verdict=verdict,
        appended=_appended(verdict, checks),
        conversations=len(scripts),
        played=played,
        checks=[*checks, texts],
        drift=drift,
        ratio=ratio,
        problem=None if played else _why_nothing(scripts),
    )


def load(job: TitoJob) -> tuple[TemplateFacts, Engine]:
    """The facts and the engine of a job, its tokenizer loaded. Raises CannotCheckError where it cannot be loaded."""
    arguments: dict[str, Any] = {
        "name": job.copy.name,
        "file": job.copy.file or None,
        "variables": job.variables,
        "conversations": job.conversations,
        "snapshot": job.snapshot,
    }
    if job.options.engine == "transformers":
        files = job.tokenizer.tokenizer
        if files is None or files.folder is None:
            raise CannotCheckError("--engine transformers needs a tokenizer folder. Use --engine mirror.")
        live = load_transformers(files.folder, job.copy.source, job.tokenizer.stop_ids)
        with trusted_memory():
            _warm_up(live)
        return TransformersFacts(live, job.copy.source, job.profile, **arguments), live

    def load_ours() -> Tokenization:
        return load_tokenization(job.tokenizer, profile_version=job.profile.version)

    facts = TemplateFacts(job.copy.source, job.profile, tokenization=load_ours, **arguments)
    engine = MirrorEngine(facts)
    with trusted_memory():
        _warm_up(engine)
    return facts, engine


def _warm_up(engine: Engine) -> None:
    """Start threads and load numpy now: neither is the template's doing, and both take memory."""
    import numpy  # noqa: F401

    engine.tokenization.encode_batch(["a", "b"])


def _chosen(scenarios: Sequence[Scenario], names: Sequence[str]) -> list[Scenario]:
    if not names:
        return list(scenarios)
    chosen = [scenario for scenario in scenarios if scenario.name in names or scenario.base_name in names]
    known = {scenario.name for scenario in chosen} | {scenario.base_name for scenario in chosen}
    for name in names:
        if name not in known:
            raise UsageError(f"no scenario {name!r}. See template-lint render --list.")
    return chosen


def _with_prefix_questions(facts: TemplateFacts, verdict: Verdict, check: Check) -> Check:
    """A check of buffers that found nothing wrong, against the prefix questions of conversations as they are written.

    The simulator plays each reply in a form that its prompt allows; the same reply in another form may still fail.
    """
    kind = check.name.removeprefix("buffer-after-")
    if check.status not in (Status.PASS, Status.SKIPPED) or verdict.appended.get(kind) != "unstable":
        return check
    appended = Appended(kind)
    asked = facts.answered(appended)
    bad = [question for question in asked if not question.holds or token_divergence(facts, question) is not None]
    where = f", in {bad[0].scenario.name} ({len(bad)} of {len(asked)} fail)" if bad else ": a reply rewrites history"
    needed = Appended.TOOL if facts.static.reads_tools else Appended.USER
    rule = "TL102" if bad and bad[0].holds else PREFIX_RULES[appended]
    return check._replace(
        status=Status.FAIL if appended is needed else Status.WARN,
        message=f"appending a {kind} message rewrites what was rendered before{where}",
        rule=rule,
        remedy=REMEDIES[rule],
    )


def _appended(verdict: Verdict, checks: Sequence[Check]) -> dict[str, str]:
    """The verdict's word for each kind of appended message, where the buffers that were played bear it out."""
    words = dict(verdict.appended)
    if verdict.tito == "no-tools":
        words["tool"] = "no-tools"
    for kind in words:
        check = next(check for check in checks if check.name == f"buffer-after-{kind}")
        if check.status in (Status.FAIL, Status.WARN):
            words[kind] = "unstable"
        if words[kind] == "unstable" and verdict.tito == "stable-with-kwargs":
            words[kind] = verdict.tito
    return words


def _why_nothing(scripts: Sequence[Script]) -> str:
    problems = [script.problem.reason for script in scripts if script.problem is not None]
    return problems[0] if problems else "no conversation was asked for"
