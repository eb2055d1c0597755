"""TL002: the template does not compile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from jinja2 import TemplateSyntaxError

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.limits import RenderStopped
from template_lint.rendering.positions import Position, normalise_newlines
from template_lint.rules.base import Rule

_GO = r"\{\{-?\s*(?:end\b|range\b|(?:if\s+(?:and\s+|or\s+|not\s+|eq\s+)?)?[.$][A-Z]\w*)"
"""What a Go template has and Jinja has not: ``{{ .System }}``, ``{{- range .Messages }}``, ``{{ end }}``."""

_TOKEN = r"\w+|-?[%}]\}|\{[{%#]|\S"


class TemplateSyntax(Rule):
    """The template does not compile.

    What: Jinja, or Python for the code that Jinja makes of it, refuses the source: an unclosed tag, an unknown tag, a
    filter that does not exist, ``{% break %}`` inside ``{% generation %}``.

    Why it matters: every call of ``apply_chat_template`` raises.

    How to fix: correct the line. Tags that only another engine knows (``{% do %}``, ``{% include %}``) are not
    available. A template copied out of a JSON file must be decoded first, and a Go template, as Ollama has them, must
    be written anew: the finding says so where it is one.
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
            remedy=_remedy(facts),
            place=_place(facts.source, failed.line),
            evidence={"error": failed.error},
        )


def _remedy(facts: TemplateFacts) -> str:
    if _is_escaped(facts):
        return "This is a JSON string, its newlines and quotes escaped: decode it, with json.loads, before you save it."
    if re.search(_GO, facts.source):
        return "This is a Go template, as Ollama has them; write it in Jinja, or take that of the original model."
    return "Correct this line; apply_chat_template raises for every conversation."


def _is_escaped(facts: TemplateFacts) -> bool:
    """Whether the source compiles once it is decoded as what stands between the quotes of a JSON string."""
    if "\\" not in facts.source:
        return False
    try:
        decoded = json.loads(f'"{facts.source.strip()}"')
        with facts.template.limits:
            facts.template.environment.parse(decoded)
    except RenderStopped:
        facts.template.limits.settle()
        return False
    except (ValueError, TemplateSyntaxError, RecursionError):
        return False
    return True


def _place(source: str, line: int | None) -> Place | None:
    if line is None:
        return None
    lines = normalise_newlines(source).split("\n")
    number = min(max(int(line), 1), len(lines))
    start = sum(len(text) + 1 for text in lines[: number - 1])
    text = lines[number - 1]
    column, end = len(text) - len(text.lstrip()) + 1, len(text) + 1
    if isinstance(line, Position) and start <= line.offset <= start + len(text):
        column = line.offset - start + 1
        token = re.match(_TOKEN, text[column - 1 :])
        end = column + len(token[0]) if token else end
    return Place(
        line=number,
        column=column,
        end_line=number,
        end_column=max(end, column),
        offset=start + column - 1,
        end_offset=start + max(end, column) - 1,
    )
