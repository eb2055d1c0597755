"""``template-lint init``: propose a configuration, a workflow and a pre-commit hook, and write what is not there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.outputs import standard_output
from template_lint.errors import UsageError
from template_lint.report.layout.canvas import Canvas, canvas_for
from template_lint.report.layout.escape import visible

if TYPE_CHECKING:
    from template_lint.settings.starter import Proposal
    from template_lint.settings.survey import Survey

EPILOG = """\b
Examples:
  template-lint init          show the files, ask, write
  template-lint init --yes    write without asking
  template-lint init | less   only look

\b
Exit codes:
  0  written, nothing to write, or declined
  2  nothing written, because there is no terminal to ask and no --yes; or a file could not be written"""


@click.command("init", short_help="Set up a repository.", epilog=EPILOG)
@click.option("--yes", "-y", is_flag=True, help="Write without asking.")
def command(yes: bool) -> ExitCode:
    """Write a configuration, a GitHub workflow and a pre-commit hook for the repository you stand in.

    Shows each file first and asks. A file that is there already is never touched: what to add to it is shown instead.
    """
    from template_lint.settings.starter import proposals
    from template_lint.settings.survey import survey

    found = survey(Path.cwd())
    files = proposals(found)
    new = [file for file in files if not file.there]
    with standard_output() as out:
        _show(found, files, out, canvas_for(out))
    if not new:
        say("template-lint: nothing to write: every file is there already.")
        return ExitCode.CLEAN
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            say("template-lint: nothing written: there is no terminal to ask. Run it again with --yes to write.")
            return ExitCode.WRONG
        if not click.confirm(f"Write {_listed(new)}?", err=True):
            say("template-lint: nothing written.")
            return ExitCode.CLEAN
    for file in new:
        _write(found.root / file.path, file.content)
        say(f"wrote {_from_here(found.root / file.path)}")
    for line in _next(found, new):
        say(line)
    return ExitCode.CLEAN


def _show(found: Survey, files: Sequence[Proposal], out: TextIO, canvas: Canvas) -> None:
    seen = [
        f"{number} {noun if number == 1 else plural}"
        for number, noun, plural in (
            (found.models, "model folder", "model folders"),
            (found.templates, "template file", "template files"),
            (int(found.lock), "lock", "locks"),
        )
        if number
    ]
    out.write(f"Found: {', '.join(seen) or 'no template; name Hub models in the configuration'}\n")
    for file in files:
        path = visible(_from_here(found.root / file.path))
        if not file.there:
            out.write("\n" + canvas.paint(f"--- {path} (new)", "bold") + "\n")
            _block(file.content, out)
        elif file.advice:
            out.write("\n" + canvas.paint(f"--- {path} is there and stays as it is. Add by hand:", "bold") + "\n")
            _block(file.advice, out)
        else:
            out.write("\n" + canvas.paint(f"--- {path} is there and stays as it is.", "bold") + "\n")
    out.write("\n")


def _next(found: Survey, new: Sequence[Proposal]) -> list[str]:
    """What to do now, a command a line."""
    steps = [("template-lint check", "what the gate will say")]
    if not found.targets and found.configuration is None:
        steps.insert(0, (f"edit {_from_here(found.root / new[0].path)}", "name what to check"))
    if any(file.path.startswith(".pre-commit") for file in new):
        steps.append(("pre-commit install", "checks the files of each commit"))
    names = " ".join(_from_here(found.root / file.path) for file in new)
    steps.append((f"git add {names}", "then commit: the workflow runs on each pull request"))
    return ["next:", *(f"  {step}   # {why}" for step, why in steps)]


def _block(text: str, out: TextIO) -> None:
    for line in text.splitlines():
        out.write(visible(line) + "\n")


def _write(path: Path, content: str) -> None:
    """Make a new file; one that has appeared meanwhile is not touched."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(content)
    except OSError as error:
        raise UsageError(f"cannot write {path.as_posix()}: {error.strerror or error}.") from None


def _from_here(path: Path) -> str:
    import os

    return Path(os.path.relpath(path)).as_posix()


def _listed(files: Sequence[Proposal]) -> str:
    names = [file.path for file in files]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
