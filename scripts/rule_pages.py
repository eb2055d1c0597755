"""docs/rules/: one page for each rule and an index, from the registry, the docstrings and the examples.

What the linter prints about an example is printed here by the linter itself, for a fixed transformers version and
width.
"""

from __future__ import annotations

import importlib
import inspect
import io
import re
import textwrap
from collections.abc import Iterator
from difflib import unified_diff

from scripts.rule_evidence import corpus_cell, corpus_lines, corpus_size, public_reports, tokenizer_templates
from template_lint.cli.explain import example_files, lint_examples
from template_lint.model import Report
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.markdown_text import fenced
from template_lint.report.text import write
from template_lint.rules.base import Example, FolderExample, Rule
from template_lint.rules.page import own_needs, sections, summary
from template_lint.rules.registry import all_rules

Examples = Example | FolderExample

TRANSFORMERS = "5.24"
WIDTH = 100

_NEEDS = {
    "tools": "a template that knows tools, or `--require tools`",
    "generation": "a template with `{% generation %}`",
    "tokenizer": "a tokenizer, from the model folder or `--tokenizer`",
    "snapshot": "a model folder or repository with more than one copy of the template",
}


def rule_pages() -> dict[str, str]:
    """Path below docs/rules/ -> page."""
    return {"index.md": _index(), **{f"{rule.code}.md": _page(rule) for rule in all_rules()}}


def family_table(link: str) -> str:
    """The families as one Markdown table; ``link`` is where the pages lie, as seen from the reader."""
    lines = ["| rules | about | names |", "| --- | --- | --- |"]
    for title, rules in _families().items():
        codes = f"[{rules[0].code} to {rules[-1].code}]({link}index.md#{_anchor(title)})"
        if len(rules) == 1:
            codes = f"[{rules[0].code}]({link}{rules[0].code}.md)"
        lines.append(f"| {codes} | {title} | {', '.join(rule.name for rule in rules)} |")
    return "\n".join(lines)


def printed(report: Report) -> str:
    """The text report as a file gets it."""
    out = io.StringIO()
    write(report, out, canvas=Canvas(width=WIDTH))
    return out.getvalue()


def _rows(rules: list[type[Rule]]) -> list[str]:
    asked = any(corpus_cell(rule.code) for rule in rules)
    titles = ["code", "name", "severity", "needs", *(["in the corpus"] if asked else []), "finds"]
    lines = [f"| {' | '.join(titles)} |", f"| {' | '.join('---' for _ in titles)} |"]
    for rule in rules:
        cells = [f"[{rule.code}]({rule.code}.md)", rule.name, rule.severity.value, ", ".join(own_needs(rule))]
        cells += [corpus_cell(rule.code)] if asked else []
        lines.append(f"| {' | '.join([*cells, summary(rule)])} |")
    return lines


def _families() -> dict[str, list[type[Rule]]]:
    """Title -> its rules, by code."""
    families: dict[str, list[type[Rule]]] = {}
    for rule in all_rules():
        families.setdefault(rule.__module__.rsplit(".", 1)[0], []).append(rule)
    return {_title(module): rules for module, rules in families.items()}


def _title(module: str) -> str:
    first = (inspect.getdoc(importlib.import_module(module)) or "").splitlines()[0].rstrip(".").replace("``", "`")
    title = re.sub(r"^(TL\w: |Rules about )", "", first)
    return title[0].upper() + title[1:]


def _anchor(title: str) -> str:
    """The name that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _index() -> str:
    parts = ["# Rules", "`template-lint explain CODE` prints these pages at the terminal."]
    parts += [
        _fill(
            f"The column *in the corpus* counts the templates with a finding, of {corpus_size()} public ones "
            f"that are checked without a tokenizer; for rules that need one, of the {tokenizer_templates()} of them "
            "that fit one of six tokenizers. A rule that looks at more than one template has no such figure. "
            "[corpus.json](corpus.json) has the figures by severity."
        )
    ]
    for title, rules in _families().items():
        parts += [f"## {title}", "\n".join(_rows(rules))]
    needs = "\n".join(f"- **{name}**: {meaning}" for name, meaning in _NEEDS.items())
    parts += ["## What rules need", f"A rule whose needs are not met is skipped, and the report says why.\n\n{needs}"]
    return "\n\n".join(parts) + "\n"


def _page(rule: type[Rule]) -> str:
    needs = "; ".join(_NEEDS[need] for need in own_needs(rule)) or "nothing more than the template"
    asked = "Asked by `template-lint audit`." if rule.stage == "audit" else f"Needs: {needs}."
    parts = [f"# {rule.code} {rule.name}", summary(rule), f"Severity: {rule.severity.value}. {asked}"]
    parts += ["\n".join(corpus_lines(rule.code))] if corpus_lines(rule.code) else []
    for heading, text in sections(rule):
        parts += [f"## {heading}", _fill(text)] if heading else [_fill(text)]
    for example, fixed in _pairs(rule.examples()):
        parts += _example(rule, example) + (_fix(example, fixed) if fixed else [])
    transcript = rule.transcript()
    if transcript is not None:
        parts += ["## How it is reported", fenced(transcript, "text")]
    if reports := public_reports(rule.code):
        parts += [
            "## Public reports",
            "What this rule finds was reported here, and is found there:",
            "\n".join(reports),
        ]
    return "\n\n".join(parts) + "\n"


def _pairs(examples: list[Examples]) -> Iterator[tuple[Examples, Examples | None]]:
    """Each bad example with the good one of the same name, if there is one; then the good ones that are left."""
    good = {example.name.removeprefix("good"): example for example in examples if example.name.startswith("good")}
    for example in examples:
        if example.name.startswith("bad"):
            yield example, good.pop(example.name.removeprefix("bad"), None)
    yield from ((example, None) for example in good.values())


def _example(rule: type[Rule], example: Examples) -> list[str]:
    found = example.name.startswith("bad")
    parts = [f"## {'Found' if found else 'Not found'}: {example.name}"]
    for title, text in example_files(example):
        if isinstance(example, FolderExample):
            parts.append(f"`{title}`")
        parts.append(fenced(text, "text" if text.startswith("(") else title.rpartition(".")[2]))
    if found:
        report = printed(lint_examples(rule, [example], transformers=TRANSFORMERS))
        parts += ["`template-lint check` prints:", fenced(report, "text")]
    return parts


def _fix(bad: Examples, good: Examples) -> list[str]:
    before, after = (dict(example_files(example)) for example in (bad, good))
    parts = [f"Fixed, as {good.name}:"]
    for name, text in before.items():
        fixed = name.replace(bad.name, good.name, 1)
        lines = list(unified_diff(text.splitlines(), after[fixed].splitlines(), name, fixed, n=1, lineterm=""))
        if lines:
            parts.append(fenced("\n".join(lines), "diff"))
    return parts


def _fill(text: str) -> str:
    """A paragraph filled to the width of our sources; a list keeps its lines."""
    if any(line.startswith(("-", "*", " ")) for line in text.splitlines()):
        return text
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)
