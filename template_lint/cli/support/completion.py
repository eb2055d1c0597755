"""What the shell offers for arguments that are not a fixed choice: files for targets, codes and names for rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_files(_context: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Let the shell complete a path. A repository cannot be completed: that would take the network."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(text, type="file")]


def complete_rules(_context: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Codes and names of rules; behind a comma, those of the next rule."""
    from click.shell_completion import CompletionItem

    from template_lint.rules.registry import rule_names

    before, comma, word = text.rpartition(",")
    return [
        CompletionItem(before + comma + offered, help=name)
        for code, name in rule_names().items()
        for offered in (code, name)
        if offered.lower().startswith(word.lower())
    ]


def complete_outputs(_context: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Output formats."""
    from click.shell_completion import CompletionItem

    from template_lint.report import formats

    return [CompletionItem(name) for name in formats() if name.startswith(text)]
