"""``template-lint check``: lint targets and report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import Output, emit, parse_outputs
from template_lint.cli.support.pinning import choose, pin_options
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.progress import progress_bar
from template_lint.cli.support.settings_options import file_options, given, settings_from, settings_options
from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Report, Severity
from template_lint.target import Target

if TYPE_CHECKING:
    from template_lint.settings import Settings

EPILOG = """\b
Examples:
  template-lint check                                   the configured targets, or every template below
  template-lint check chat_template.jinja --tokenizer Qwen/Qwen3-8B
  template-lint check Qwen/Qwen3-8B@main --transformers 4.57 --offline
  template-lint check --baseline known.json --update-baseline
  template-lint check models/ --select TL1 --ignore TL107 --output text --output json=report.json

\b
Exit codes:
  0  no finding at or above --fail-on, and every target was checked
  1  at least one finding at or above --fail-on, even if some target could not be checked
  2  wrong usage, wrong configuration, or an internal error
  3  no such finding, but some target could not be checked or rendered, or there was none"""


@click.command("check", cls=GroupedCommand, short_help="Lint chat templates.", epilog=EPILOG)
@click.argument("targets", nargs=-1, shell_complete=complete_files)
@settings_options
@pin_options
@file_options
@click.option("--show-settings", is_flag=True, help="Print the settings and where each comes from; check nothing.")
@click.option("--card", is_flag=True, help="Say what each template can render: tools, ids, reasoning, switches.")
@click.option("--update-baseline", is_flag=True, help="Write the baseline anew from what is found.")
@click.option("--prune-baseline", is_flag=True, help="Take out of the baseline what is there no more.")
def command(
    targets: tuple[str, ...],
    config: Path | None,
    isolated: bool,
    show_settings: bool,
    card: bool,
    update_baseline: bool,
    prune_baseline: bool,
    pinned: bool,
    live: bool,
    **values: Any,
) -> ExitCode:
    """Say whether chat templates are prefix-preserving for tool loops, and which line of a template breaks it.

    TARGETS are template files, model folders, folders of templates, .gguf files, Hub repositories
    (org/name[@revision]) or - for standard input. Without any, those of the configuration are checked, else the
    template files below the current folder.
    """
    settings = settings_from(config, isolated).over(given(values))
    if show_settings:
        _show(settings)
        return ExitCode.CLEAN
    destinations = parse_outputs(settings.get("output", ()), origin=settings.origin("output"))
    options = settings.options()._replace(display=any(output.format == "html" for output in destinations))
    _refuse_conflicts(options)
    maintain = _maintenance(options, update_baseline, prune_baseline)
    configured = () if pinned or live else tuple(spec.target for spec in options.targets)
    wanted = choose(targets or configured, pinned=pinned, live=live, lock=options.lock) or ["."]
    if live:
        options = options._replace(locked=frozenset(target.repo for target in wanted if isinstance(target, Target)))
    from template_lint.engine import check

    with progress_bar() as bar:

        def progress(done: int, total: int, name: str) -> None:
            if not name:  # the workers are busy: a good moment to import what the report will need
                for destination in destinations:
                    _ = destination.write
            if bar is not None:
                bar(done, total, name)

        asked = options if maintain is None else options._replace(baseline=None, min_severity=Severity.INFO)
        report = check(wanted, asked, progress=progress)
    if maintain is not None:
        report = maintain(report, options)
    emit(destinations, lambda output, stream, canvas: output.write(report, stream, canvas=canvas._replace(card=card)))
    _talk(report, destinations)
    return exit_code(report, options.fail_on)


def _show(settings: Settings) -> None:
    """Print every setting with its value and origin."""
    from template_lint.cli.support.outputs import standard_output
    from template_lint.report.layout.canvas import table_canvas
    from template_lint.report.layout.escape import visible
    from template_lint.report.layout.table import Cell, table

    with standard_output() as out:
        rows = [
            (Cell(key, "bold"), Cell(origin, "dim" if origin == "default" else ""), Cell(visible(value)))
            for key, value, origin in settings.rows()
        ]
        for line in table(rows, table_canvas(out), header=("setting", "from", "value")):
            out.write(line + "\n")


def _maintenance(options: Options, update: bool, prune: bool) -> Callable[[Report, Options], Report] | None:
    """What writes the baseline after a check, or None where nobody asked."""
    if not update and not prune:
        return None
    if update and prune:
        raise UsageError("--update-baseline and --prune-baseline exclude each other: an update prunes too. Drop one.")
    flag = "--update-baseline" if update else "--prune-baseline"
    if options.baseline is None:
        raise UsageError(f"{flag} needs to know the file. Give --baseline FILE, or baseline in the configuration.")
    from template_lint.cli.support.baselines import prune_baseline, update_baseline

    return update_baseline if update else prune_baseline


def exit_code(report: Report, fail_on: Severity | None) -> ExitCode:
    """Return 1 for a live finding at or above ``fail_on``, else 3 if something was not checked, else 0.

    Not checked are a target that could not be read, none at all, and a template that renders no conversation of ours,
    or none with tools. A run that excluded all it was given was not asked to check anything.
    """
    live = [finding for finding in report.findings if finding.suppressed is None]
    if fail_on is not None and any(finding.severity.rank >= fail_on.rank for finding in live):
        return ExitCode.FINDINGS
    if not report.targets and not report.excluded:
        return ExitCode.NOT_CHECKED
    if any(target.error is not None for target in report.targets):
        return ExitCode.NOT_CHECKED
    if report.unrendered:
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _refuse_conflicts(options: Options) -> None:
    """Raise UsageError where one rule is named by both ``--select`` and ``--ignore``; a prefix minus a code is fine."""
    if not options.select or not options.ignore:
        return
    from template_lint.rules.registry import select

    wanted = {frozenset(select([word], [])): word for word in options.select}
    for word in options.ignore:
        codes = frozenset(select([word], []))
        if codes in wanted:
            raise UsageError(f"{word} is both selected (as {wanted[codes]}) and ignored. Drop one of the two options.")


def _talk(report: Report, outputs: Sequence[Output]) -> None:
    """Where the text report does not reach the reader, say on stderr what it would have said last."""
    if not any(output.format == "text" and output.path is None for output in outputs):
        from template_lint.report.layout.summary import (
            note_lines,
            summary_line,
            unchecked_lines,
            unrendered_lines,
        )

        for line in [*unchecked_lines(report), *unrendered_lines(report), *note_lines(report), summary_line(report)]:
            say(line)
