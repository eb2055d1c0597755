"""``--help`` of commands with many options: headings, and no option without one."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import click
import pytest
from click.testing import Result

from template_lint.cli.support.help_groups import GROUPS
from template_lint.cli.support.program import GroupedCommand, program

Run = Callable[..., Result]
GROUPED = ["audit", "check", "diff", "fix", "lock", "render", "tito"]


@pytest.mark.parametrize("name", GROUPED)
def test_every_option_has_a_heading(name: str) -> None:
    command = importlib.import_module(f"template_lint.cli.{name}").command
    named = {option for options in GROUPS.values() for option in options}
    context = click.Context(command)
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    assert [option.opts for option in options if not named & set(option.opts)] == []


def test_no_heading_names_an_option_that_is_not_there() -> None:
    there = {
        option
        for name in GROUPED
        for parameter in importlib.import_module(f"template_lint.cli.{name}").command.params
        for option in parameter.opts
    }
    assert {option for options in GROUPS.values() for option in options} - there == {"--help"}


def test_check_shows_its_options_by_what_they_are_for(run: Run) -> None:
    text = run("check", "--help").stdout
    skipped = ("to do", "it on", "a model")
    places = [text.index(f"\n{heading}:\n") for heading in GROUPS if not heading.endswith(skipped)]
    assert places == sorted(places)
    assert text.index("\nSuppression:\n") < text.index("--update-baseline  ") < text.index("\nRunning:\n")


def test_an_option_stands_with_what_it_is_for_in_this_command(run: Run) -> None:
    audit, tito = run("audit", "--help").stdout, run("tito", "--help").stdout
    assert audit.index("\nA sample to try it on:\n") < audit.index("  --seed N") < audit.index("\nRunning:\n")
    assert tito.index("\nWhat to check:\n") < tito.index("  --seed ") < tito.index("\nWhat to report:\n")
    assert "\n  [ROLLOUTS]" not in audit


def test_commands_with_many_options_are_grouped() -> None:
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
    many = {name for name, command in commands.items() if command is not None and len(command.params) > 10}
    grouped = {name for name, command in commands.items() if isinstance(command, GroupedCommand)}
    assert many <= grouped == set(GROUPED)


@pytest.mark.parametrize(
    ("words", "help_of"),
    [
        (("fix", "--tokenizer"), "template-lint fix"),
        (("check", "x.jinja", "--select"), "template-lint check"),
        (("rules", "--output"), "template-lint rules"),
        (("check", "--offline=yes"), "template-lint check"),
        (("--debug=yes",), "template-lint"),
    ],
)
def test_wrong_usage_names_the_help_of_its_command(run: Run, words: tuple[str, ...], help_of: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{help_of}: Option '") and result.stderr.endswith(f" See {help_of} --help.\n")


def test_wrong_usage_ends_its_sentence(run: Run) -> None:
    assert "argument (extra). See template-lint init" in run("init", "extra").stderr


def test_the_examples_of_the_program_stand_on_lines_of_their_own(run: Run) -> None:
    lines = run("--help").stdout.splitlines()
    examples = [line for line in lines if line.startswith("  template-lint ")]
    assert [line.split()[1] for line in examples] == ["check", "check", "render", "audit", "explain"]
    assert all(len(line) <= 80 for line in examples)


@pytest.mark.parametrize("name", GROUPED)
def test_arguments_are_not_among_the_options(name: str, run: Run) -> None:
    lines = run(name, "--help").stdout.splitlines()
    rows = [line for line in lines if line.startswith("  [") and not line.startswith("  [default")]
    assert rows == []
