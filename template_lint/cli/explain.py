"""``template-lint explain``: the page of one rule, its examples, and what the linter says about them."""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from template_lint.cli.support.outputs import standard_output
from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Report
from template_lint.report.layout.canvas import Canvas, canvas_for
from template_lint.report.layout.escape import visible
from template_lint.report.layout.width import wrap

if TYPE_CHECKING:
    from template_lint.rules.registry import Example, Rule


@click.command("explain", short_help="Explain one rule.", epilog="Examples: explain TL101, explain tool-prefix")
@click.argument("rule", metavar="CODE|NAME")
def command(rule: str) -> None:
    """Say what a rule means, why it matters and how to fix it, with examples and how they are reported."""
    found = _find(rule)
    examples = found.examples()
    report = _check(found, examples)
    with standard_output() as out:
        _write(found, examples, report, out, canvas_for(sys.stdout))


def _find(text: str) -> type[Rule]:
    from template_lint.rules.registry import all_rules

    rules = {key: rule for rule in all_rules() for key in (rule.code.lower(), rule.name)}
    if text.lower() in rules:
        return rules[text.lower()]
    import difflib

    near = difflib.get_close_matches(text.lower(), rules, 1)
    hint = f"Did you mean {near[0].upper() if near[0].startswith('tl') else near[0]}? " if near else ""
    raise UsageError(f"no rule {text!r}. {hint}See template-lint rules.")


def _check(rule: type[Rule], examples: Sequence[Example]) -> Report | None:
    """Lint the examples as files and return the report with their short names in it; None where there are none."""
    from template_lint.engine import check

    if not examples:
        return None
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for example in examples:
            path = Path(folder, example.name)
            path.write_text(example.source, encoding="utf-8")
            paths.append(str(path))
        report = check(paths, Options(select=(rule.code,), jobs=1, offline=True, cache=False))
    targets = [replace(target, target=Path(target.target).name) for target in report.targets]
    return replace(report, targets=targets)


def _write(rule: type[Rule], examples: Sequence[Example], report: Report | None, out: TextIO, canvas: Canvas) -> None:
    needs = f", needs {', '.join(rule.needs)}" if rule.needs else ""
    out.write(canvas.paint(f"{rule.code} {rule.name}", "bold") + f" ({rule.severity.value}{needs})\n\n")
    for line in _prose(inspect.getdoc(rule) or "", canvas.width):
        out.write(line + "\n")
    for example in examples:
        out.write("\n" + canvas.paint(f"Example {example.name}", "bold") + "\n")
        for line in example.source.splitlines():
            out.write(f"    {visible(line)}\n")
    if report is not None:
        from template_lint.report.text import write

        out.write("\n" + canvas.paint("How the linter reports them", "bold") + "\n\n")
        write(report, out, canvas=canvas)


def _prose(text: str, columns: int) -> Iterator[str]:
    """Fill paragraphs to the width; lines that are indented or begin a list stay lines of their own."""
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        lines = paragraph.splitlines()
        if any(line.startswith((" ", "- ", "* ")) for line in lines):
            yield from lines
        else:
            yield from wrap(" ".join(lines), columns)
