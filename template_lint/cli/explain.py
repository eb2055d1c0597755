"""``template-lint explain``: the page of one rule, its examples, and what the linter says about them."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from template_lint.cli.support.completion import complete_rules
from template_lint.cli.support.outputs import standard_output
from template_lint.config import Options
from template_lint.model import Report
from template_lint.report.layout.canvas import Canvas, canvas_for
from template_lint.report.layout.escape import visible
from template_lint.report.layout.width import wrap
from template_lint.rules.page import own_needs, page

if TYPE_CHECKING:
    from template_lint.rules.base import Example, FolderExample, Rule


@click.command("explain", short_help="Explain one rule.", epilog="Examples: explain TL101, explain tool-prefix")
@click.argument("rule", metavar="CODE|NAME", shell_complete=complete_rules)
def command(rule: str) -> None:
    """Say what a rule means, why it matters and how to fix it, with examples and how they are reported."""
    from template_lint.rules.registry import find_rule

    found = find_rule(rule)
    examples = found.examples()
    report = lint_examples(found, examples) if examples else None
    with standard_output() as out:
        _write(found, examples, report, out, canvas_for(sys.stdout))


def lint_examples(
    rule: type[Rule], examples: Sequence[Example | FolderExample], *, transformers: str | None = None
) -> Report:
    """Lint examples with their own rule alone, and return the report with their short names in it."""
    from template_lint.engine import check
    from template_lint.rules.base import write_example

    options = Options(select=(rule.code,), transformers=transformers, jobs=1, offline=True, cache=False)
    with tempfile.TemporaryDirectory() as folder:
        names = {str(write_example(example, Path(folder))): example.name for example in examples}
        report = check(list(names), options)
    targets = [target._replace(target=names.get(target.target, target.target)) for target in report.targets]
    return report._replace(targets=targets)


def example_files(example: Example | FolderExample) -> Iterator[tuple[str, str]]:
    """Yield what there is to read of an example as (title, text); of a tokenizer only its size."""
    from template_lint.rules.base import FolderExample

    if not isinstance(example, FolderExample):
        yield example.name, example.source
        return
    for name, text in example.files.items():
        yield f"{example.name}/{name}", f"({len(text)} characters)" if name == "tokenizer.json" else text


def _write(
    rule: type[Rule], examples: Sequence[Example | FolderExample], report: Report | None, out: TextIO, canvas: Canvas
) -> None:
    needs = f", needs {', '.join(own_needs(rule))}" if own_needs(rule) else ""
    out.write(canvas.paint(f"{rule.code} {rule.name}", "bold") + f" ({rule.severity.value}{needs})\n\n")
    for line in _prose(page(rule), canvas):
        out.write(line + "\n")
    for example in examples:
        for title, text in example_files(example):
            out.write("\n" + canvas.paint(f"Example {title}", "bold") + "\n")
            for line in text.splitlines():
                out.write(f"    {visible(line)}\n")
    transcript = rule.transcript()
    if transcript is not None:
        out.write("\n" + canvas.paint("How it is reported", "bold") + "\n\n")
        for line in transcript.splitlines():
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
