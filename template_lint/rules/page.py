"""The page of a rule: its docstring, as text, by its sections, and as Markdown."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from template_lint.rules.base import Rule

HEADINGS = {"What": "What it finds", "Why it matters": "Why it matters", "How to fix": "How to fix it"}


class Section(NamedTuple):
    """One paragraph of a page; ``heading`` is ``""`` where it goes on with the one before it."""

    heading: str
    text: str


def page(rule: type[Rule]) -> str:
    """Return a rule's page as plain text: its docstring without the double backquotes of reStructuredText."""
    return (inspect.getdoc(rule) or "").replace("``", "`")


def summary(rule: type[Rule]) -> str:
    """Return the first line of a rule's page."""
    return page(rule).partition("\n")[0]


def sections(rule: type[Rule]) -> list[Section]:
    """Return what follows the summary: what the rule finds, why it matters, how to fix it."""
    found = []
    for paragraph in page(rule).split("\n\n")[1:]:
        title, colon, text = paragraph.partition(": ")
        if colon and title in HEADINGS:
            if text.split()[0].isalpha():  # not a file name
                text = text[0].upper() + text[1:]
            found.append(Section(HEADINGS[title], text))
        else:
            found.append(Section("", paragraph))
    return found


def markdown(rule: type[Rule]) -> str:
    """Return a rule's page as Markdown, without a title."""
    parts = [summary(rule)]
    for heading, text in sections(rule):
        parts += [f"## {heading}", text] if heading else [text]
    return "\n\n".join(parts) + "\n"


def own_needs(rule: type[Rule]) -> list[str]:
    """Return what a rule needs beyond a template that compiles, which nearly every rule needs."""
    return [need for need in rule.needs if need not in ("template", "syntax")]
