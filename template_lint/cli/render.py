"""``template-lint render``: show a conversation as the model reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from template_lint.cli.support.completion import complete_files
from template_lint.cli.support.failures import ExitCode, say
from template_lint.cli.support.look import RESERVED, Request, about, look
from template_lint.cli.support.outputs import standard_output
from template_lint.cli.support.program import GroupedCommand
from template_lint.cli.support.views import Shown, as_data, line_table, mask_table, prose, token_table
from template_lint.errors import UsageError
from template_lint.report.layout.canvas import table_canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.table import Cell, table
from template_lint.scenarios.model import Scenario

DEFAULT_SCENARIO = "two-rounds"

EPILOG = """\b
Examples:
  template-lint render chat_template.jinja                        two rounds of tool calls
  template-lint render Qwen/Qwen3-8B --tokens --generation-prompt one row per token
  template-lint render model/ --conversation mine.jsonl --lines   which template line wrote what
  template-lint render model/ --kwargs enable_thinking=false --scenario chat
  template-lint render --list                                     the conversations there are"""


@click.command("render", cls=GroupedCommand, short_help="Show a conversation as the model reads it.", epilog=EPILOG)
@click.argument("target", required=False, shell_complete=complete_files)
@click.option("--scenario", metavar="NAME", help=f"Which conversation. [default: {DEFAULT_SCENARIO}]")
@click.option(
    "--conversation",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Your own conversations, JSON lines; the first one, or the one that --scenario names.",
)
@click.option("--list", "list_them", is_flag=True, help="List the conversations and stop.")
@click.option(
    "--generation-prompt/--no-generation-prompt", default=False, help="Add the generation prompt. [default: no]"
)
@click.option("--template", "template_name", metavar="NAME", help="Which template, where a target has several.")
@click.option("--kwargs", multiple=True, metavar="KEY=JSON", help="A template kwarg. Repeatable.")
@click.option(
    "--transformers", metavar="VERSION", help="The transformers version to mirror. [default: the installed one]"
)
@click.option("--tokenizer", metavar="TARGET", help="The tokenizer for a template that comes without one.")
@click.option("--offline", is_flag=True, help="Use no network; Hub targets come from the cache.")
@click.option("--tokens", is_flag=True, help="One row per token; with --mask also whether it is trained on.")
@click.option("--mask", is_flag=True, help="What {% generation %} marks.")
@click.option("--lines", is_flag=True, help="The template line and column that wrote each piece.")
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    target: str | None,
    scenario: str | None,
    conversation: Path | None,
    list_them: bool,
    generation_prompt: bool,
    template_name: str | None,
    kwargs: tuple[str, ...],
    transformers: str | None,
    tokenizer: str | None,
    offline: bool,
    tokens: bool,
    mask: bool,
    lines: bool,
    output: str,
) -> ExitCode:
    """Show a conversation as the model reads it, exactly as apply_chat_template would render it.

    TARGET is a template file, a model folder, a .gguf file, a Hub repository or - for standard input. A pipe gets the
    text byte for byte; a terminal gets it coloured by speaker, with escapes instead of control characters.
    """
    if lines and (tokens or mask):
        raise UsageError("--lines cannot be combined with --tokens or --mask. Look at one after the other.")
    scenarios = _scenarios(conversation)
    if list_them:
        return _list(scenarios)
    if target is None:
        raise UsageError(
            "no target. Name a template file, a model folder or a Hub repository: template-lint render TARGET"
        )
    request = Request(
        target=target,
        template_name=template_name,
        scenario=_choose(scenarios, scenario, own=conversation is not None),
        kwargs=_parse_kwargs(kwargs),
        generation_prompt=generation_prompt,
        transformers=transformers,
        tokenizer=tokenizer,
        offline=offline,
        tokens=tokens,
    )
    shown = look(request)
    with standard_output() as out:
        if output == "json":
            from template_lint.report.json import dumps

            out.write(dumps({**about(request), **as_data(shown)}) + "\n")
        else:
            _write(shown, out, tokens=tokens, mask=mask, lines=lines)
    if shown.note:
        say(shown.note)
    if mask and not shown.rendering.generation_spans:
        say("nothing is marked: the template has no {% generation %} around what the assistant says")
    return ExitCode.CLEAN


def _write(shown: Shown, out: TextIO, *, tokens: bool, mask: bool, lines: bool) -> None:
    canvas = table_canvas(out)
    if tokens:
        rows = token_table(shown, canvas, mask=mask)
    elif mask:
        rows = mask_table(shown, canvas)
    elif lines:
        rows = line_table(shown, canvas)
    elif canvas.color or out.isatty():
        text = prose(shown, canvas)
        out.write(text if text.endswith("\n") else text + "\n")
        return
    else:
        out.write(shown.rendering.text)
        return
    for row in rows:
        out.write(row + "\n")


def _scenarios(path: Path | None) -> list[Scenario]:
    if path is not None:
        from template_lint.scenarios.user import load_conversations

        return load_conversations(path)
    from template_lint.scenarios.catalogue import load_catalogue

    return load_catalogue()


def _list(scenarios: Sequence[Scenario]) -> ExitCode:
    rows = [
        (
            Cell(visible(scenario.name), "bold"),
            Cell(str(len(scenario.messages))),
            Cell("yes" if scenario.tools else "no"),
            Cell(visible(scenario.title)),
        )
        for scenario in scenarios
    ]
    with standard_output() as out:
        for line in table(rows, table_canvas(out), header=("name", "messages", "tools", "what")):
            out.write(line + "\n")
    return ExitCode.CLEAN


def _choose(scenarios: Sequence[Scenario], name: str | None, *, own: bool) -> Scenario:
    by_name = {scenario.name: scenario for scenario in scenarios}
    if name is None:
        return scenarios[0] if own else by_name[DEFAULT_SCENARIO]
    if name in by_name:
        return by_name[name]
    import difflib

    near = difflib.get_close_matches(name, by_name, 1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"no scenario {name!r}. {hint}See template-lint render --list.")


def _parse_kwargs(texts: Sequence[str]) -> dict[str, Any]:
    kwargs = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier() or key in RESERVED:
            raise UsageError(f"--kwargs {text}: write KEY=JSON, where KEY is a variable of the template.")
        try:
            kwargs[key] = json.loads(value)
        except ValueError:
            raise UsageError(f"--kwargs {text}: {value!r} is not JSON. Quote a string: '{key}=\"...\"'.") from None
    return kwargs
