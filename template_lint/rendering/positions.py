"""Columns for Jinja: a lexer that hands the parser line numbers which also know their offset, and the tokens of a
source.

Jinja nodes keep only a line. The parser copies ``token.lineno`` into each node untouched, so an int subclass travels
along.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator
from typing import NamedTuple

from jinja2 import TemplateSyntaxError, nodes
from jinja2.lexer import Lexer

from template_lint.model import Place


class Position(int):
    """A 1-based line number that also carries the 0-based offset of its token in the normalised source."""

    offset: int


class SourceToken(NamedTuple):
    """One lexer token: Jinja's kind (``name``, ``operator``, ``block_end`` ...), its text, and where it starts."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """Offset just after the token."""
        return self.offset + len(self.text)


def normalise_newlines(source: str) -> str:
    """The text that Jinja's lexer really reads: ``\\r\\n`` and ``\\r`` become ``\\n``, one trailing newline goes."""
    text = re.sub(r"\r\n|\r", "\n", source)
    return text[:-1] if text.endswith("\n") else text


def _position(line: int, offset: int) -> Position:
    position = Position(line)
    position.offset = offset
    return position


class PositionLexer(Lexer):
    """Jinja's lexer, unchanged but for the line numbers it yields. ``tokens`` are those of the source lexed last."""

    tokens: list[SourceToken]

    def tokeniter(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield Jinja's own (line, kind, text) triples, with the line as a Position where it is not white space.

        So has the TemplateSyntaxError of what is no token.
        """
        text = normalise_newlines(source)
        tokens = self.tokens = []
        cursor = 0
        try:
            for line, kind, value in super().tokeniter(source, name, filename, state):
                # What the lexer drops between two tokens is white space stripped before a tag, nothing else.
                while not text.startswith(value, cursor):
                    cursor += 1
                if kind == "whitespace":  # the parser never sees it
                    yield line, kind, value
                else:
                    tokens.append(SourceToken(kind, value, cursor))
                    yield _position(line, cursor), kind, value
                cursor += len(value)
        except TemplateSyntaxError as error:
            begun = tokens and "Missing end" in (error.message or "")  # of a comment, or of a raw block
            error.lineno = _position(error.lineno, tokens[-1].offset if begun else cursor)
            raise


class _Children:
    """A node's ``iter_child_nodes``, from memory."""

    __slots__ = ("_all", "_by_field")

    def __init__(self, node: nodes.Node) -> None:
        self._all: list[nodes.Node] = []
        self._by_field: list[tuple[str, list[nodes.Node]]] = []
        for field in node.fields:
            value = getattr(node, field, None)
            if type(value) is list:
                found = [item for item in value if isinstance(item, nodes.Node)]
            elif isinstance(value, nodes.Node):
                found = [value]
            else:
                continue
            self._all += found
            self._by_field.append((field, found))

    def __call__(
        self, exclude: Container[str] | None = None, only: Container[str] | None = None
    ) -> Iterator[nodes.Node]:
        if exclude is None and only is None:
            return iter(self._all)
        return (
            child
            for field, found in self._by_field
            if (exclude is not None and field not in exclude) or (only is not None and field in only)
            for child in found
        )


def remember_children(tree: nodes.Template) -> None:
    """Make every node of a finished tree know its children.

    Jinja's code generator and our questions walk a tree some ten times, and Jinja looks at every field each time.
    """
    everything: list[nodes.Node] = [tree]
    for node in everything:
        children = node.__dict__["iter_child_nodes"] = _Children(node)
        everything += children()


def walk(node: nodes.Node) -> Iterator[nodes.Node]:
    """A node and all its descendants, in no particular order."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack += current.iter_child_nodes()


_AFTER_EXPRESSION = frozenset({"if", "else", "recursive", ",", "and", "or", "~", "+", ":"})
_OPENING = frozenset("([{")
_CLOSING = frozenset(")]}")


class SourceMap:
    """Turns offsets into places and nodes into ranges. Works on the normalised source."""

    def __init__(self, source: str, tokens: list[SourceToken]) -> None:
        self.text = normalise_newlines(source)
        self.tokens = tokens
        self._starts = [token.offset for token in tokens]
        self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a 0-based offset."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def place(self, start: int, end: int) -> Place:
        """The place of the half-open range [start, end)."""
        line, column = self.line_column(start)
        end_line, end_column = self.line_column(end)
        return Place(line=line, column=column, end_line=end_line, end_column=end_column, offset=start, end_offset=end)

    def token_index(self, offset: int) -> int:
        """Index of the token that starts at or covers ``offset``."""
        return max(bisect_right(self._starts, offset) - 1, 0)

    def test_range(self, node: nodes.If) -> tuple[int, int]:
        """Range of the condition of an ``if`` or ``elif``: what stands between the keyword and the end of the tag."""
        index = self.token_index(offset_of(node))
        if self.tokens[index].text in ("if", "elif"):
            index += 1
        start = self.tokens[index].offset
        end = self.tokens[index].end
        while index < len(self.tokens) and self.tokens[index].kind != "block_end":
            end = self.tokens[index].end
            index += 1
        return start, end

    def expression_range(self, node: nodes.Node) -> tuple[int, int]:
        """Range of an expression: from the first token of the node or its descendants to the last one that belongs to
        it.
        """
        # A comparison carries the token after it, so it is known by its operands.
        offsets = [
            offset for child in walk(node) if not isinstance(child, nodes.Compare) and (offset := offset_of(child)) >= 0
        ]
        if not offsets:
            return 0, 0
        return self._widened(min(offsets), max(offsets))

    def _widened(self, start: int, last: int) -> tuple[int, int]:
        """From the tokens at ``start`` and ``last`` to the whole expression, with the brackets that it closes."""
        index = self.token_index(start)
        depth = 0
        end = self.tokens[index].end
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.kind in ("block_end", "variable_end"):
                break
            if token.text in _OPENING:
                depth += 1
            elif token.text in _CLOSING:
                depth -= 1
                if depth < 0:
                    if token.offset >= last:
                        break
                    # A bracket has no node: `(a or b)[0]` begins before its first operand.
                    start, depth = self._opening_before(start), 0
            elif depth == 0 and token.offset > last and token.text in _AFTER_EXPRESSION:
                break
            end = token.end
            index += 1
        return start, end

    def _opening_before(self, start: int) -> int:
        """Offset of the bracket that is open at ``start``."""
        depth = 0
        for token in reversed(self.tokens[: self.token_index(start)]):
            if token.text in _CLOSING:
                depth += 1
            elif token.text in _OPENING:
                depth -= 1
                if depth < 0:
                    return token.offset
        return start


def offset_of(node: nodes.Node) -> int:
    """Offset of a node's own token, or -1 for the one node kind that has none (``Operand``)."""
    line = getattr(node, "lineno", None)
    return line.offset if isinstance(line, Position) else -1
