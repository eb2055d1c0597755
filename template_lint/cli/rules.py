"""``template-lint rules``: the rules, one per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from template_lint.cli.support.outputs import standard_output
from template_lint.report.json import dumps
from template_lint.report.layout.canvas import table_canvas
from template_lint.report.layout.table import Cell, table
from template_lint.rules.page import own_needs, summary

if TYPE_CHECKING:
    from template_lint.rules.base import Rule

_STYLE = {"error": "red", "warning": "yellow", "info": "blue"}


@click.command(
    "rules", short_help="List the rules.", epilog="Example: template-lint rules --output json | jq '.[].code'"
)
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output: str) -> None:
    """List every rule: code, name, default severity, what it needs, and what it finds."""
    from template_lint.rules.registry import all_rules

    rules = all_rules()
    with standard_output() as out:
        if output == "json":
            out.write(dumps([_entry(rule) for rule in rules]) + "\n")
            return
        rows = [
            (
                Cell(rule.code, "bold"),
                Cell(rule.name),
                Cell(rule.severity.value, _STYLE[rule.severity.value]),
                Cell(", ".join(own_needs(rule)) or "-"),
                Cell(summary(rule)),
            )
            for rule in rules
        ]
        header = ("code", "name", "severity", "needs", "finds")
        for line in table(rows, table_canvas(out), header=header):
            out.write(line + "\n")


def _entry(rule: type[Rule]) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "needs": list(rule.needs),
        "summary": summary(rule),
    }
