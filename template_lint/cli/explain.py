"""``template-lint explain``: the page of one rule, its examples, and what the linter says about them."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from template_lint.cli.rules import own_needs, page
from template_lint.cli.support.outputs import standard_output
from template_lint.config import Options
from template_lint.model import Report
from template_lint.report.layout.canvas import Canvas, canvas_for
from template_lint.report.layout.escape import visible
from template_lint.report.layout.width import wrap

if TYPE_CHECKING:
    from template_lint.rules.base import Example, Rule


@click.command("explain", short_help="Explain one rule.", epilog="Examples: explain TL101, explain tool-prefix")
@click.argument("rule", metavar="CODE|NAME")
def command(rule: str) -> None:
    """Say what a rule means, why it matters and how to fix it, with examples and how they are reported."""
    from template_lint.rules.registry import find_rule

    found = find_rule(rule)
    examples = found.examples()
    report = _check(found, examples)
    with standard_output() as out:
        _write(found, examples, report, out, canvas_for(sys.stdout))


def _check(rule: type[Rule], examples: Sequence[Example]) -> Report | None:
    """Lint the examples as files and return the report with their short names in it; None where there are none."""
    from template_lint.engine import check

    if not examples:
        return None
    with tempfile.TemporaryDirectory() as folder:
        names = {str(_write_example(example, Path(folder))): example.name for example in examples}
        report = check(list(names), Options(select=(rule.code,), jobs=1, offline=True, cache=False))
    targets = [target._replace(target=names.get(target.target, target.target)) for target in report.targets]
    return report._replace(targets=targets)


def _write_example(example: Example, folder: Path) -> Path:
    """Write an example where the linter knows it for what it is: a template by its suffix, a config by its name."""
    path = folder / example.name
    if path.suffix == ".json":
        path.mkdir()
        path /= "tokenizer_config.json"
    path.write_text(example.source, encoding="utf-8")
    return path


def _write(rule: type[Rule], examples: Sequence[Example], report: Report | None, out: TextIO, canvas: Canvas) -> None:
    needs = f", needs {', '.join(own_needs(rule))}" if own_needs(rule) else ""
    out.write(canvas.paint(f"{rule.code} {rule.name}", "bold") + f" ({rule.severity.value}{needs})\n\n")
    for line in _prose(page(rule), canvas):
        out.write(line + "\n")
    for example in examples:
        out.write("\n" + canvas.paint(f"Example {example.name}", "bold") + "\n")
        for line in example.source.splitlines():
            out.write(f"    {visible(line)}\n")
    if report is not None:
        from template_lint.report.text import write

        out.write("\n" + canvas.paint("How the linter reports them", "bold") + "\n\n")
        write(report, out, canvas=canvas)


def _prose(text: str, canvas: Canvas) -> Iterator[str]:
    """Fill paragraphs to the width and paint their titles (``What:``); lists and indented lines stay as they are."""
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ""
        lines = paragraph.splitlines()
        if any(line.startswith((" ", "- ", "* ")) for line in lines):
            yield from lines
            continue
        first, *rest = wrap(" ".join(lines), canvas.width)
        title = re.match(r"[A-Z][a-z ]{1,30}:", first)
        yield canvas.paint(title[0], "bold") + first[title.end() :] if title else first
        yield from rest
