"""``template-lint diff``: what changed between the pin and now, between two targets, between two transformers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import emit, parse_outputs
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.progress import Progress, progress_bar
from template_lint.cli.support.settings_options import file_options, settings_from
from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Severity

if TYPE_CHECKING:
    from template_lint.lock.drift.model import DriftReport
    from template_lint.lock.drift.sides import Pair

EPILOG = """\b
Examples:
  template-lint diff                                           every model of the lock: pinned against live
  template-lint diff Qwen/Qwen3-8B                             one model of the lock
  template-lint diff Qwen/Qwen3-8B@main Qwen/Qwen3-8B@refs/pr/7
  template-lint diff old.jinja new.jinja --tokenizer ./model/
  template-lint diff --transformers 4.57 --transformers 5.24 Qwen/Qwen3-8B

\b
Grades: 0 only the revision moved (TL601 info), 1 files changed and prompts did not (TL602 warning), 2 prompts differ in
text or token ids (TL603 error), 3 a property that held no longer does (TL604 error). TL605: the training template.

\b
Exit codes:
  0  no finding at or above --fail-on, and everything was compared
  1  at least one finding at or above --fail-on
  2  wrong usage, a damaged lock, or an internal error
  3  no such finding, but something could not be compared, or there was nothing to compare"""


@click.command(
    "diff", cls=GroupedCommand, short_help="What changed since the pin, or between two targets.", epilog=EPILOG
)
@click.argument("targets", nargs=-1, metavar="[MODEL | A B]", shell_complete=complete_files)
@click.option("--lock", "lock_file", type=click.Path(path_type=Path), help="The lock. [default: the nearest above]")
@click.option(
    "--transformers",
    multiple=True,
    metavar="VERSION",
    help="The version to mirror; given twice, one target under both. [default: that of the lock, else the installed]",
)
@click.option("--tokenizer", metavar="TARGET", help="The tokenizer for templates that come without one.")
@click.option(
    "--conversations",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your own conversations, JSON lines of messages, tools, kwargs. Repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    default="error",
    show_default=True,
    help="The least severe finding that fails the run.",
)
@click.option(
    "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Worker processes. [default: one per processor]"
)
@click.option("--offline", is_flag=True, help="Use no network; Hub targets come from the cache.")
@file_options
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="text, json or markdown, to stdout or a file. Repeatable. [default: text]",
)
def command(
    targets: tuple[str, ...],
    lock_file: Path | None,
    transformers: tuple[str, ...],
    tokenizer: str | None,
    conversations: tuple[Path, ...],
    fail_on: str,
    jobs: int,
    offline: bool,
    config: Path | None,
    isolated: bool,
    outputs: tuple[str, ...],
) -> ExitCode:
    """Say what changed, how grave it is, and what that does to a run.

    Without a target, every model of the lock is compared: its pinned commit with what the requested revision is now.
    MODEL is one of them. A and B are any two targets. Every conversation of the catalogue is rendered on both sides, in
    every legal form and with every thinking switch, as text and as token ids; nothing is sampled.
    """
    from template_lint.report.drift import FORMATS, drift_writer

    destinations = parse_outputs(outputs, FORMATS)
    settings = settings_from(config, isolated).options()
    conversations, jobs = conversations or settings.conversations, jobs or settings.jobs
    options = Options(
        tokenizer=tokenizer or settings.tokenizer,
        conversations=conversations,
        offline=offline or settings.offline,
        jobs=jobs,
        transformers=settings.transformers,
    )
    from template_lint.engine import processors
    from template_lint.lock.drift.run import compare
    from template_lint.scenarios.user import load_conversations

    own = [scenario for path in conversations for scenario in load_conversations(path)]
    with progress_bar() as bar:
        pairs = _pairs(targets, lock_file or settings.lock, transformers, options, bar)
        report = compare(pairs, conversations=own, processes=jobs or processors(), progress=bar)
    emit(destinations, lambda output, stream, canvas: drift_writer(output.format)(report, stream, canvas=canvas))
    if not any(output.format == "text" and output.path is None for output in destinations):
        from template_lint.report.drift.words import headline, summary

        for drift in report.drifts:
            say(headline(drift))
        say(summary(report))
    return exit_code(report, None if fail_on == "never" else Severity(fail_on))


def exit_code(report: DriftReport, fail_on: Severity | None) -> ExitCode:
    """1 for a live finding at or above ``fail_on``, else 3 where a side was not read or not compared, else 0."""
    live = [finding for finding in report.findings if finding.suppressed is None]
    if fail_on is not None and any(finding.severity.rank >= fail_on.rank for finding in live):
        return ExitCode.FINDINGS
    if not report.drifts or any(drift.error is not None or drift.unchecked for drift in report.drifts):
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _pairs(
    targets: tuple[str, ...],
    lock_file: Path | None,
    versions: tuple[str, ...],
    options: Options,
    progress: Progress | None,
) -> list[Pair]:
    from template_lint.lock.drift.sides import pair_of_targets, pair_of_versions
    from template_lint.rendering.profiles import parse_profile, resolve_profile

    if len(targets) > 2 or len(versions) > 2:
        raise UsageError(
            "diff compares two things: give a model of the lock, two targets, or one target and two --transformers."
        )
    if len(versions) == 2:
        if len(targets) != 1:
            raise UsageError("two --transformers compare one target under both versions. Name one target.")
        return [pair_of_versions(targets[0], (parse_profile(versions[0]), parse_profile(versions[1])), options)]
    version = versions[0] if versions else None
    if len(targets) == 2:
        return [pair_of_targets(targets[0], targets[1], resolve_profile(version or options.transformers), options)]
    from template_lint.lock.drift.pins import pairs_of_lock

    return pairs_of_lock(targets[0] if targets else None, lock_file, version, options, progress)
