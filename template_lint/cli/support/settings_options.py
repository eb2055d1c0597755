"""The options that the configuration file has too, made from the one table of settings; and which file is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from template_lint.cli.support.completion import complete_files, complete_outputs, complete_rules
from template_lint.config import REQUIREMENTS
from template_lint.errors import UsageError
from template_lint.model import Severity
from template_lint.settings.table import FAIL_ON, KEYS, SEVERITIES, Key, Kind

if TYPE_CHECKING:
    from template_lint.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

_REPEATABLE = (
    *(Kind.RULES, Kind.SEVERITIES, Kind.REQUIREMENTS),
    *(Kind.PATHS, Kind.PATTERNS, Kind.OUTPUTS),
)
_COMPLETIONS = {
    Kind.RULES: complete_rules,
    Kind.OUTPUTS: complete_outputs,
    Kind.TARGET: complete_files,
    Kind.PATTERNS: complete_files,
}


def settings_options(function: F) -> F:
    """Give a command one option for each setting but ``targets``. Their values go to ``given`` as they came."""
    for key in reversed([key for key in KEYS if key.kind is not Kind.TARGETS]):
        function = _option(key)(function)
    return function


def file_options(function: F) -> F:
    """Give a command ``--config`` and ``--isolated``. Their values go to ``settings_from``."""
    isolated = click.option("--isolated", is_flag=True, help="Read no configuration file.")
    config = click.option(
        "--config",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="This configuration. [default: the nearest template-lint.yaml or pyproject.toml upwards]",
    )
    return config(isolated(function))


def settings_from(config: Path | None, isolated: bool) -> Settings:
    """The settings of the file that is meant. Raises UsageError, also for a mistake in the file."""
    from template_lint.settings import Settings, find_settings, read_settings

    if isolated:
        if config is not None:
            raise UsageError("--config and --isolated exclude each other. Drop one.")
        return Settings(None, {})
    return find_settings() if config is None else read_settings(config)


def _option(key: Key) -> Callable[[F], F]:
    names = [f"--{key.name}"]
    if key.kind is Kind.BOOL:
        names = [f"--{key.name}/--no-{key.name}"]
    elif key.name == "output":
        names.append("-o")
    types: Mapping[Kind, Any] = {
        Kind.SEVERITY: click.Choice(SEVERITIES),
        Kind.FAIL_ON: click.Choice(FAIL_ON),
        Kind.REQUIREMENTS: click.Choice(sorted(REQUIREMENTS)),
        Kind.PATHS: click.Path(exists=True, dir_okay=False, path_type=Path),
        Kind.PATH: click.Path(dir_okay=False, path_type=Path),
        Kind.NUMBER: click.IntRange(min=0),
        Kind.BOOL: bool,
    }
    repeatable = key.kind in _REPEATABLE
    text = key.help + (
        " Commas separate; repeatable." if key.kind is Kind.RULES else " Repeatable." if repeatable else ""
    )
    default = "" if key.default in ("none", "nothing", "false") else f" [default: {key.default}]"
    return click.option(
        *names,
        key.name.replace("-", "_"),
        type=types.get(key.kind, str),
        multiple=repeatable,
        default=None,
        metavar=key.metavar,
        shell_complete=_COMPLETIONS.get(key.kind),
        help=text + default,
    )


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was given on the command line, by key, as the configuration file would have it. Raises UsageError."""
    found: dict[str, Any] = {}
    for key in KEYS:
        value = values.get(key.name.replace("-", "_"))
        if value is None or value == ():
            continue
        match key.kind:
            case Kind.RULES:
                value = tuple(word for text in value for part in text.split(",") if (word := part.strip()))
            case Kind.SEVERITY:
                value = Severity(value)
            case Kind.FAIL_ON:
                value = None if value == "never" else Severity(value)
            case Kind.SEVERITIES:
                value = dict(_severity(part) for text in value for part in text.split(","))
            case Kind.REQUIREMENTS:
                value = frozenset(value)
            case _:
                pass
        found[key.name] = value
    return found


def _severity(text: str) -> tuple[str, Severity]:
    rule, equals, word = (part.strip() for part in text.partition("="))
    if not rule or not equals or word not in SEVERITIES:
        raise UsageError(f"--severity {text}: write RULE=SEVERITY, with one of {', '.join(SEVERITIES)}.")
    return rule, Severity(word)
