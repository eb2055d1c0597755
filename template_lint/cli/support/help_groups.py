"""The headings under which ``--help`` lists the options of commands that have many."""

from __future__ import annotations

from collections.abc import Sequence

import click

GROUPS = {
    "What to check": (
        *("--tokenizer", "--conversations", "--scenario", "--template", "--transformers", "--engine", "--seed"),
        *("--segmentations", "--pinned", "--live", "--lock", "--exclude", "--force-exclude", "--conversation"),
        *("--generation-prompt", "--kwargs", "--preset", "--fields", "--stop-ids", "--render"),
    ),
    "What to do": (
        *("--upgrade", "--remove", "--check", "--vendor", "--write", "--in-place", "--markers", "--allow-unsafe"),
    ),
    "Which rules": ("--select", "--ignore", "--extend-select", "--extend-ignore", "--severity", "--require"),
    "What to report": (
        "--min-severity",
        "--fail-on",
        "--output",
        "--statistics",
        "--card",
        "--tokens",
        "--mask",
        "--lines",
        "--list",
        "--strict",
    ),
    "Scores of a model": (
        *("--score", "--score-device", "--score-dtype", "--score-apply-sampling"),
        *("--score-batch-tokens", "--score-chunk"),
    ),
    "A sample to try it on": ("--make-sample", "--seed", "--defect-rate", "--defects"),
    "Suppression": ("--inline-ignores", "--baseline", "--update-baseline", "--prune-baseline"),
    "Running": ("--config", "--isolated", "--show-settings", "--offline", "--jobs", "--cache", "--help"),
}


def grouped(parameters: Sequence[click.Parameter], context: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, rows of option and help) for each group that has any, in the order of GROUPS.

    An option that no group names goes to the last one. Arguments are none: the usage line and the text name them.
    """
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    present = {name for option in options for name in option.opts}
    rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in GROUPS}
    for option in options:
        row = option.get_help_record(context)
        if row is not None:
            rows[_heading(option, present)].append(row)
    return [(heading, lines) for heading, lines in rows.items() if lines]


def _heading(option: click.Option, present: set[str]) -> str:
    """Of several headings the last whose first option the command has too: the seed is that of a sample, if it makes
    one.
    """
    found = [heading for heading, names in GROUPS.items() if not set(names).isdisjoint(option.opts)]
    if not found:
        return list(GROUPS)[-1]
    return next((heading for heading in reversed(found[1:]) if GROUPS[heading][0] in present), found[0])
