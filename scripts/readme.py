"""The generated blocks of README.md: the broken example with what is printed about it, and the families of rules.

A block stands between ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``.
"""

from __future__ import annotations

import re
from pathlib import Path

from scripts.rule_pages import TRANSFORMERS, family_table, printed
from template_lint import check
from template_lint.report.layout.markdown_text import fenced

EXAMPLE = "examples/broken.jinja"


def readme(text: str, root: Path) -> str:
    """README.md with its blocks filled in. Raises ValueError where a block is missing."""
    text = fill_block(text, "example", _example(root), "README.md")
    return fill_block(text, "rules", family_table("docs/rules/"), "README.md")


def fill_block(text: str, name: str, content: str, page: str) -> str:
    """Put ``content`` into the block ``name`` of a page. Raises ValueError where there is none."""
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"{page} has no block <!-- generated: {name} --> ... <!-- end of {name} -->")
    return pattern.sub(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", text)


def _example(root: Path) -> str:
    report = check(str(root / EXAMPLE), transformers=TRANSFORMERS, jobs=1, cache=False, offline=True)
    report = report._replace(targets=[target._replace(target=EXAMPLE) for target in report.targets])
    source = (root / EXAMPLE).read_text(encoding="utf-8")
    terminal = f"$ template-lint check {EXAMPLE}\n{printed(report)}"
    return f"{fenced(source, 'jinja')}\n\n{fenced(terminal, 'text')}"
