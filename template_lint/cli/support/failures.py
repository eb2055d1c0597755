"""Exit codes, and how a run that fails ends: one line on stderr, a traceback only for who asks for it."""

from __future__ import annotations

import contextlib
import enum
import os
import sys

import click

from template_lint.errors import CannotCheckError, TemplateLintError, TemplateSelectionError

DEBUG_VARIABLE = "TEMPLATE_LINT_DEBUG"


class ExitCode(enum.IntEnum):
    """What the process says to its caller. ``FINDINGS`` is said for nothing else."""

    CLEAN = 0
    FINDINGS = 1
    WRONG = 2
    NOT_CHECKED = 3
    INTERRUPTED = 130


def say(message: str) -> None:
    """Write one line of talk to stderr; a closed stderr is nobody's business."""
    from template_lint.report.layout.escape import defused, visible

    with contextlib.suppress(OSError):
        click.echo(defused(visible(message)), err=True, color=True)


def report_failure(error: BaseException, *, debug: bool) -> ExitCode:
    """Say what went wrong and return the exit code for it."""
    if isinstance(error, BrokenPipeError):
        discard_stdout()
        return ExitCode.CLEAN
    if debug:
        import traceback

        with contextlib.suppress(OSError):
            traceback.print_exception(error)
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        say("template-lint: interrupted")
        return ExitCode.INTERRUPTED
    if isinstance(error, click.ClickException):
        say(_usage_line(error))
        return ExitCode.WRONG
    if isinstance(error, TemplateLintError):
        say(f"template-lint: {error}")
        return ExitCode.WRONG if not _not_checked(error) else ExitCode.NOT_CHECKED
    say(
        f"template-lint: internal error: {type(error).__name__}: {error}. "
        f"Set {DEBUG_VARIABLE}=1 for the traceback, and please report it."
    )
    return ExitCode.WRONG


def _not_checked(error: TemplateLintError) -> bool:
    # A template that raises (kind "render") was looked at, but there is nothing to show of it.
    return isinstance(error, (CannotCheckError, TemplateSelectionError)) or error.kind == "render"


def _usage_line(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "template-lint"
    message = error.format_message()
    return f"{path}: {message}{'' if message.endswith(('.', '?', '?)')) else '.'} See {path} --help."


def discard_stdout() -> None:
    """Point stdout to nowhere, so that flushing what is left of it cannot fail when the interpreter ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
