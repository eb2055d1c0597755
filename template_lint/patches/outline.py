"""The statements of a template as ranges of its source: what can be wrapped, moved or taken out as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from template_lint.rendering.positions import SourceMap, SourceToken

_OPENS = frozenset({"if", "for", "macro", "call", "filter", "generation", "block", "with", "autoescape"})
_BETWEEN = frozenset({"elif", "else"})


@dataclass
class Body:
    """The statements between two tags of one statement, and the range between these tags."""

    start: int
    end: int
    statements: list[Statement] = field(default_factory=list)


@dataclass
class Statement:
    """A text, a print or a tag with all that it encloses. ``keyword`` is ``text``, ``print`` or that of the tag.

    [start, end) spans the delimiters but no white space that a tag strips.
    """

    keyword: str
    start: int
    end: int
    bodies: list[Body] = field(default_factory=list)

    def walk(self) -> Iterator[Statement]:
        """This statement and all that it encloses."""
        yield self
        for body in self.bodies:
            for statement in body.statements:
                yield from statement.walk()


def outline(source: SourceMap) -> Body:
    """The statements of a template that parses."""
    root = Body(0, len(source.text))
    open_bodies = [root]
    open_statements: list[Statement] = []
    tokens = source.tokens
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind == "data":
            open_bodies[-1].statements.append(Statement("text", token.offset, token.end))
        elif token.kind == "variable_begin":
            index = _find(tokens, index, "variable_end")
            end = _visible_end(tokens[index])
            open_bodies[-1].statements.append(Statement("print", token.offset, end))
        elif token.kind == "block_begin":
            last = _find(tokens, index, "block_end")
            keyword = tokens[index + 1].text
            end = _visible_end(tokens[last])
            if keyword in _BETWEEN and not (keyword == "else" and not open_statements):
                open_bodies.pop().end = token.offset
                body = Body(tokens[last].end, len(source.text))
                open_statements[-1].bodies.append(body)
                open_bodies.append(body)
            elif keyword.startswith("end") and open_statements:
                open_bodies.pop().end = token.offset
                open_statements.pop().end = end
            else:
                statement = Statement(keyword, token.offset, end)
                open_bodies[-1].statements.append(statement)
                if keyword in _OPENS or (keyword == "set" and not _assigns(tokens[index:last])):
                    body = Body(tokens[last].end, len(source.text))
                    statement.bodies.append(body)
                    open_statements.append(statement)
                    open_bodies.append(body)
            index = last
        index += 1
    return root


def path_to(body: Body, offset: int) -> list[tuple[Body, int]]:
    """The statements that enclose an offset, outermost first, each as the body that holds it and its index there."""
    for index, statement in enumerate(body.statements):
        if statement.start <= offset < statement.end:
            path = [(body, index)]
            for inner in statement.bodies:
                if inner.start <= offset < inner.end:
                    path += path_to(inner, offset)
            return path
    return []


def _assigns(tag: Sequence[SourceToken]) -> bool:
    depth = 0
    for token in tag:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.text == "=" and depth == 0:
            return True
    return False


def _find(tokens: Sequence[SourceToken], index: int, kind: str) -> int:
    while tokens[index].kind != kind:
        index += 1
    return index


def _visible_end(token: SourceToken) -> int:
    """Where the closing delimiter ends: its token also holds the white space that it strips."""
    return token.offset + len(token.text.rstrip())
