"""The program ``template-lint``: finds its commands by name, and turns whatever happens into an exit code."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from template_lint.cli.support.failures import DEBUG_VARIABLE, ExitCode, report_failure

_COMMANDS = "template_lint.cli"


class Program(click.Group):
    """A group whose commands are the modules of ``template_lint.cli``, imported when asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        import pkgutil

        package = importlib.import_module(_COMMANDS)
        return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.ispkg)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for a name that is no command."""
        name = f"{_COMMANDS}.{cmd_name}"
        if not cmd_name.isidentifier() or importlib.util.find_spec(name) is None:
            return None
        command: click.Command | None = getattr(importlib.import_module(name), "command", None)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command in ``args``; an unknown one is told the nearest right name."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            import difflib

            known = self.list_commands(ctx)
            near = difflib.get_close_matches(args[0], known, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Commands: {', '.join(known)}."
            ctx.fail(f"no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; of an option without its value, Click does not say whose it is."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if error.ctx is None and name is not None else None
            if command is not None:
                error.ctx = click.Context(command, ctx, name)
            raise

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *rest: Any, **extra: Any
    ) -> NoReturn:
        """Run a command line and leave. Click's own exits 1, our code for findings, when a pipe closes."""
        if any(name.endswith("_COMPLETE") and name.startswith("_TEMPLATE_LINT") for name in os.environ):
            super().main(args, prog_name, *rest, **extra)
        _forgive_encodings()
        sys.exit(self._run(sys.argv[1:] if args is None else list(args), prog_name or "template-lint"))

    def _run(self, args: list[str], name: str) -> int:
        debug = bool(os.environ.get(DEBUG_VARIABLE))
        try:
            with self.make_context(name, args) as context:
                debug = debug or context.params["debug"]
                code = self.invoke(context)
            sys.stdout.flush()
            return int(code or ExitCode.CLEAN)
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except (Exception, KeyboardInterrupt) as error:
            return report_failure(error, debug=debug)


class GroupedCommand(click.Command):
    """A command with many options: ``--help`` shows them under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group; see ``help_groups``."""
        from template_lint.cli.support.help_groups import grouped

        for heading, rows in grouped(self.get_params(ctx), ctx):
            with formatter.section(heading):
                formatter.write_dl(rows)


def _forgive_encodings() -> None:
    # A terminal that is not UTF-8 shows escapes for what it lacks; it must not end the run.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _print_version(ctx: click.Context, _option: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from template_lint.rendering.profiles import resolve_profile
    from template_lint.version import __version__

    click.echo(f"template-lint {__version__}, mirrors transformers {resolve_profile(None).label}")
    ctx.exit()


INTRODUCTION = """Lint chat templates: does appending a message change how earlier messages were rendered?

\b
template-lint check examples/                lint templates and model folders
template-lint check Qwen/Qwen3-8B            lint a model on the Hub
template-lint render template.jinja          show what the model reads
template-lint audit runs/ --tokenizer MODEL  check recorded rollouts
template-lint explain TL101                  say what a rule means
"""


@click.group(
    cls=Program,
    invoke_without_command=True,
    help=INTRODUCTION,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 nothing found, 1 findings, 2 wrong usage or internal error, 3 something was not checked.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
@click.option("--debug", is_flag=True, help=f"Print tracebacks ({DEBUG_VARIABLE}=1 does the same).")
@click.pass_context
def program(context: click.Context, debug: bool) -> None:
    """Show the help where no command is named."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(ExitCode.WRONG)
