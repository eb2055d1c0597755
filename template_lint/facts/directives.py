"""Comments of a template that speak to the linter, from Jinja's own tokens: what only looks like one, in a string or a
raw block, is none. What they say is not judged here.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

from jinja2 import TemplateSyntaxError

from template_lint.model import Directive
from template_lint.rendering.positions import PositionLexer, SourceMap, SourceToken, normalise_newlines

# Right or not quite: what is meant for the linter and misspelled must not pass for prose.
_MEANT_FOR_US = r"-?\s*template[-_ ]?lint\s*(?::|[\s,;-]\s*(?:ignore|disable|noqa|skip|allow)\b)"
_OPENS = ("block_begin", "variable_begin", "raw_begin")
_CLOSES = ("block_end", "variable_end", "raw_begin")


def find_directives(source: str, lexer: PositionLexer) -> list[Directive]:
    """The directives of a source, in order; of one that Jinja cannot read, those before the place where it fails."""
    if "{#" not in source or "lint" not in source.lower():
        return []
    tokens = _tokens(source, lexer)
    source_map = SourceMap(source, tokens)
    return [
        _directive(index, tokens, source_map)
        for index, token in enumerate(tokens)
        if token.kind == "comment" and index + 1 < len(tokens) and re.match(_MEANT_FOR_US, token.text, re.IGNORECASE)
    ]


def _tokens(source: str, lexer: PositionLexer) -> list[SourceToken]:
    kept = getattr(lexer, "tokens", [])
    with contextlib.suppress(TemplateSyntaxError):
        for _ in lexer.tokeniter(normalise_newlines(source), "directives"):
            pass
    found, lexer.tokens = lexer.tokens, kept
    return found


def _directive(index: int, tokens: Sequence[SourceToken], source_map: SourceMap) -> Directive:
    begin, token, end = tokens[index - 1], tokens[index], tokens[index + 1]
    place = source_map.place(begin.offset, end.offset + len(end.text.rstrip()))
    lines = source_map.text.split("\n")
    before = lines[place.line - 1][: place.column - 1]
    after = lines[place.end_line - 1][place.end_column - 1 :]
    first, last = _next_lines(index + 2, tokens, source_map)
    return Directive(token.text, token.offset, place, not (before + after).strip(), first, last)


def _next_lines(index: int, tokens: Sequence[SourceToken], source_map: SourceMap) -> tuple[int, int]:
    """First and last line of what comes next: a tag from its first to its last line, or one line of text."""
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "data" and token.text.strip():
            line, _ = source_map.line_column(token.offset + len(token.text) - len(token.text.lstrip()))
            return line, line
        if token.kind in _OPENS:
            first, _ = source_map.line_column(token.offset)
            while index < len(tokens) and tokens[index].kind not in _CLOSES:
                index += 1
            close = tokens[min(index, len(tokens) - 1)]
            last, _ = source_map.line_column(close.offset)
            return first, last
        index += 1
    return 0, 0
