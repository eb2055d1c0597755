"""TL002: the template does not compile."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.positions import Position, normalise_newlines
from template_lint.rules.base import Rule


class TemplateSyntax(Rule):
    """The template does not compile.

    What: Jinja, or Python for the code that Jinja makes of it, refuses the source: an unclosed tag, an unknown tag, a
    filter that does not exist, ``{% break %}`` inside ``{% generation %}``.

    Why it matters: every call of ``apply_chat_template`` raises.

    How to fix: correct the line. Tags that only another engine knows (``{% do %}``, ``{% include %}``) are not
    available.
    """

    code = "TL002"
    name = "template-syntax"
    severity = Severity.ERROR
    needs = ("template",)

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compile."""
        failed = facts.compile_error
        if failed is None or failed.error == "RenderStopped":
            return
        yield self.finding(
            facts,
            f"{failed.error}: {failed.message}",
            remedy="Correct this line; apply_chat_template raises for every conversation.",
            place=_place(facts.source, failed.line),
            evidence={"error": failed.error},
        )


def _place(source: str, line: int | None) -> Place | None:
    if line is None:
        return None
    lines = normalise_newlines(source).split("\n")
    number = min(max(int(line), 1), len(lines))
    start = sum(len(text) + 1 for text in lines[: number - 1])
    text = lines[number - 1]
    column = len(text) - len(text.lstrip()) + 1
    if isinstance(line, Position) and start <= line.offset <= start + len(text):
        column = line.offset - start + 1
    return Place(
        line=number,
        column=column,
        end_line=number,
        end_column=max(len(text) + 1, column),
        offset=start + column - 1,
        end_offset=start + len(text),
    )
