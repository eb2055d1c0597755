"""Places that several rules point at."""

from __future__ import annotations

from template_lint.facts import TemplateFacts
from template_lint.model import Place


def line_place(facts: TemplateFacts, line: int | None) -> Place | None:
    """The whole of one template line, without its indentation."""
    lines = facts.template.source_map.text.split("\n")
    if line is None or not 0 < line <= len(lines):
        return None
    start = sum(len(text) + 1 for text in lines[: line - 1])
    text = lines[line - 1]
    indent = len(text) - len(text.lstrip())
    return facts.template.source_map.place(
        start + indent, start + len(text.rstrip()) if text.strip() else start + indent
    )
