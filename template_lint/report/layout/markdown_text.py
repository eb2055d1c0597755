"""Text of strangers inside GitHub Flavoured Markdown: it is shown as it is, and is no markup, link, mention or HTML."""

from __future__ import annotations

import re

from template_lint.report.layout.escape import visible

_NOTHING = "<!-- -->"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# What GitHub turns into links, mentions and emoji after Markdown is parsed: escapes do not stop it, a comment does.
_LATE = re.compile(r"@(?=\w|\Z)|#(?=\d|\Z)|:(?=//|[a-z0-9_+-]+:)|(?i:www)(?=\.)|(?i:gh)(?=-\d)")
# No bar: in a table it would end the cell. No space at the ends: a code span would lose it.
_QUOTED = re.compile(r"(?<!`)`[^`| ](?:[^`|]*[^`| ])?`(?!`)")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~$#{}]")


def prose(text: str) -> str:
    """Return ``text`` for a sentence or a table cell; what it has in backquotes becomes code.

    It must not stand at the beginning of a line.
    """
    parts = []
    end = 0
    text = visible(text)
    for match in _QUOTED.finditer(text):
        parts += [_plain(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    parts = []
    end = 0
    for match in _LATE.finditer(text):
        parts.append(_escaped(text[end : match.start()]) + _escaped(match[0]) + _NOTHING)
        end = match.end()
    return "".join([*parts, _escaped(text[end:])])


def code(text: str, *, cell: bool = False) -> str:
    """Return ``text`` as an inline code span; ``cell`` for one in a table, where a bar would end the cell.

    Parsers differ in what they make of a backslash before a bar in a code span, so there it becomes an element.
    """
    text = visible(text) or " "
    if cell and "|" in text:
        return f"<code>{_plain(text)}</code>"
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    padding = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{'`' * (longest + 1)}{padding}{text}{padding}{'`' * (longest + 1)}"


def fenced(text: str, language: str) -> str:
    """Return a code block that no text inside can end."""
    longest = max((len(ticks) for ticks in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def details(title: str, blocks: list[str]) -> str:
    """Return blocks that unfold on a click. ``title`` is inline HTML."""
    return "\n\n".join([f"<details><summary>{title}</summary>", *blocks, "</details>"])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), text)
