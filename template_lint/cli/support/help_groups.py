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
    "A sample to try it on": ("--make-sample", "--defect-rate", "--defects"),
    "Suppression": ("--inline-ignores", "--baseline", "--update-baseline", "--prune-baseline"),
    "Running": ("--config", "--isolated", "--show-settings", "--offline", "--jobs", "--cache", "--help"),
}


def grouped(parameters: Sequence[click.Parameter], context: click.Context) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, rows of option and help) for each group that has any, in the order of GROUPS.

    An option that no group names goes to the last one. Arguments are none: the usage line and the text name them.
    """
    last = list(GROUPS)[-1]
    homes = {name: heading for heading, names in GROUPS.items() for name in names}
    rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in GROUPS}
    for parameter in parameters:
        row = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if row is not None:
            found = [homes[option] for option in parameter.opts if option in homes]
            rows[found[0] if found else last].append(row)
    return [(heading, lines) for heading, lines in rows.items() if lines]
