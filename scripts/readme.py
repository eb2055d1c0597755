"""The generated blocks of README.md: the broken example with what is printed about it, and the table of rules.

A block stands between ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``.
"""

from __future__ import annotations

import re
from pathlib import Path

from scripts.rule_pages import TRANSFORMERS, printed, rule_table
from template_lint import check
from template_lint.report.layout.markdown_text import fenced

EXAMPLE = "examples/broken.jinja"


def readme(text: str, root: Path) -> str:
    """README.md with its blocks filled in. Raises ValueError where a block is missing."""
    for name, content in (("example", _example(root)), ("rules", rule_table("docs/rules/"))):
        pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"README.md has no block <!-- generated: {name} --> ... <!-- end of {name} -->")
        text = pattern.sub(lambda match, content=content: f"{match[1]}\n{content}\n\n{match[2]}", text)
    return text


def _example(root: Path) -> str:
    report = check(str(root / EXAMPLE), transformers=TRANSFORMERS, jobs=1, cache=False, offline=True)
    report = report._replace(targets=[target._replace(target=EXAMPLE) for target in report.targets])
    source = (root / EXAMPLE).read_text(encoding="utf-8")
    terminal = f"$ template-lint check {EXAMPLE}\n{printed(report)}"
    return f"{fenced(source, 'jinja')}\n\n{fenced(terminal, 'text')}"
