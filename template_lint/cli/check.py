"""``template-lint check``: lint targets and report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import Output, emit, parse_outputs
from template_lint.cli.support.pinning import choose, pin_options
from template_lint.cli.support.progress import progress_bar
from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Report, Severity

EPILOG = """\b
Examples:
  template-lint check                                   every template below this folder
  template-lint check chat_template.jinja --tokenizer Qwen/Qwen3-8B
  template-lint check Qwen/Qwen3-8B@main --transformers 4.57 --offline
  template-lint check models/ --select TL1 --ignore TL107 --output text --output json=report.json

\b
Exit codes:
  0  no finding at or above --fail-on, and every target was checked
  1  at least one finding at or above --fail-on, even if some target could not be checked
  2  wrong usage, wrong configuration, or an internal error
  3  no such finding, but some target could not be checked or rendered, or there was none"""


@click.command("check", short_help="Lint chat templates.", epilog=EPILOG)
@click.argument("targets", nargs=-1)
@click.option("--select", multiple=True, metavar="RULES", help="Only these rules: codes, prefixes (TL1) or names.")
@click.option("--ignore", multiple=True, metavar="RULES", help="Not these rules. Commas separate; repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "info", "never"]),
    default="error",
    show_default=True,
    help="The least severe finding that fails the run.",
)
@click.option(
    "--transformers", metavar="VERSION", help="The transformers version to mirror. [default: the installed one]"
)
@click.option("--tokenizer", metavar="TARGET", help="The tokenizer for templates that come without one.")
@click.option(
    "--conversations",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your own conversations, JSON lines of messages, tools, kwargs. Repeatable.",
)
@click.option(
    "--require", multiple=True, type=click.Choice(["tools"]), help="Fail a template that lacks this. Repeatable."
)
@click.option(
    "--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Worker processes. [default: one per processor]"
)
@pin_options
@click.option("--offline", is_flag=True, help="Use no network; Hub targets come from the cache.")
@click.option("--no-cache", is_flag=True, help="Check everything again.")
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="text, concise or json, to stdout or a file. Repeatable. [default: text]",
)
def command(
    targets: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    transformers: str | None,
    tokenizer: str | None,
    conversations: tuple[Path, ...],
    require: tuple[str, ...],
    jobs: int,
    pinned: bool,
    live: bool,
    offline: bool,
    no_cache: bool,
    outputs: tuple[str, ...],
) -> ExitCode:
    """Say whether chat templates are prefix-preserving for tool loops, and which line of a template breaks it.

    TARGETS are template files, model folders, folders of templates, .gguf files, Hub repositories
    (org/name[@revision]) or - for standard input. Without any, the template files below the current folder are
    checked.
    """
    destinations = parse_outputs(outputs)
    options = Options(
        select=_rules(select),
        ignore=_rules(ignore),
        fail_on=None if fail_on == "never" else Severity(fail_on),
        transformers=transformers,
        tokenizer=tokenizer,
        conversations=conversations,
        require=frozenset(require),
        jobs=jobs,
        offline=offline,
        cache=not no_cache,
    )
    _refuse_conflicts(options)
    chosen = choose(targets, pinned=pinned, live=live)
    from template_lint.engine import check

    with progress_bar() as bar:

        def progress(done: int, total: int, name: str) -> None:
            if not name:  # the workers are busy: a good moment to import what the report will need
                for destination in destinations:
                    _ = destination.write
            if bar is not None:
                bar(done, total, name)

        report = check(chosen or (".",), options, progress=progress)
    emit(destinations, lambda output, stream, canvas: output.write(report, stream, canvas=canvas))
    _talk(report, destinations)
    return exit_code(report, options.fail_on)


def exit_code(report: Report, fail_on: Severity | None) -> ExitCode:
    """Return 1 for a live finding at or above ``fail_on``, else 3 if something was not checked, else 0.

    A target that could not be read, none at all, and a template that renders no conversation of ours were not checked.
    """
    live = [finding for finding in report.findings if finding.suppressed is None]
    if fail_on is not None and any(finding.severity.rank >= fail_on.rank for finding in live):
        return ExitCode.FINDINGS
    if not report.targets or any(target.error is not None for target in report.targets):
        return ExitCode.NOT_CHECKED
    if any(template.verdict.tito == "unrenderable" for target in report.targets for template in target.templates):
        return ExitCode.NOT_CHECKED
    return ExitCode.CLEAN


def _rules(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for value in values for part in value.split(",") if (word := part.strip()))


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
        from template_lint.report.layout.summary import summary_line, unchecked_lines

        for line in [*unchecked_lines(report), summary_line(report)]:
            say(line)
