"""Which template node made which piece of output, and how each branch went; and the same render with a decision
changed.

A second compilation of the same syntax tree: Jinja's own code generator, with a call around each branch test and each
printed expression. The text is the same as that of the plain compilation (the conformance tests hold both to it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame

from template_lint.model import Place
from template_lint.rendering.environment import ChatEnvironment
from template_lint.rendering.positions import SourceMap, offset_of, walk


class Site(NamedTuple):
    """A traced place of the template: a branch test, or an expression or text that is printed.

    ``kind`` is ``if``, ``elif``, ``inline-if``, ``loop-filter`` or ``output``. ``start`` and ``end`` are 0-based
    offsets of the condition or expression in the normalised source.
    """

    number: int
    kind: str
    start: int
    end: int


Occurrence = tuple[int, int]
"""(site index, how often that site was reached before in the same render)."""


class Branch(NamedTuple):
    """One decision: ``order`` is its place in the sequence of all events of the render."""

    occurrence: Occurrence
    outcome: bool
    order: int


class Segment(NamedTuple):
    """A run of output text and the site that printed it."""

    occurrence: Occurrence
    order: int
    text: str


class Piece(str):
    """Output text that remembers its segments while Jinja passes it through macros, ``set`` blocks and captures."""

    _segments: tuple[Segment, ...]

    def __new__(cls, segments: tuple[Segment, ...]) -> Piece:
        """Make the concatenation of ``segments``."""
        self = super().__new__(cls, "".join([segment.text for segment in segments]))
        self._segments = segments
        return self

    def __str__(self) -> str:
        return self


class Trace:
    """The record of one traced render.

    ``forced`` maps an occurrence of a branch to the outcome it must take; ``suppressed`` holds occurrences of printed
    pieces that must come out empty. Both are how counterfactual questions are asked.
    """

    def __init__(
        self, *, forced: Mapping[Occurrence, bool] | None = None, suppressed: frozenset[Occurrence] = frozenset()
    ) -> None:
        self.forced = forced or {}
        self.suppressed = suppressed
        self.branches: list[Branch] = []
        self.segments: tuple[Segment, ...] = ()
        self._reached: dict[int, int] = {}
        self._order = 0

    def _next(self, site: int) -> Occurrence:
        count = self._reached.get(site, 0)
        self._reached[site] = count + 1
        self._order += 1
        return site, count

    def branch(self, site: int, value: Any) -> bool:
        """Record a decision; give back the outcome it is to have."""
        occurrence = self._next(site)
        outcome = self.forced[occurrence] if occurrence in self.forced else bool(value)
        self.branches.append(Branch(occurrence, outcome, self._order))
        return outcome

    def emit(self, site: int, value: Any) -> str:
        """Record a printed value; give back the text to print."""
        occurrence = self._next(site)
        text = str(value)
        if occurrence in self.suppressed:
            return ""
        if isinstance(text, Piece):
            return text
        return Piece((Segment(occurrence, self._order, text),))

    def order_at(self, offset: int) -> int:
        """Place in the sequence of events of the piece that holds the character at ``offset``; past all at the end."""
        position = 0
        for segment in self.segments:
            position += len(segment.text)
            if position > offset:
                return segment.order
        return self._order + 1

    def concat(self, parts: Iterable[str]) -> str:
        """Jinja's ``environment.concat``: join parts, keeping their segments."""
        segments: list[Segment] = []
        for part in parts:
            if isinstance(part, Piece):
                segments.extend(part._segments)
            elif part:
                segments.append(Segment((-1, 0), self._order, part))
        return Piece(tuple(segments))


class TracingCodeGenerator(CodeGenerator):
    """Jinja's code generator, with hooks at the nodes that ``mark_sites`` has marked."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        """Wrap a marked branch test in a call to the trace."""
        site = node.__dict__.get("_branch_site")
        if site is None:
            return super().visit(node, *args, **kwargs)
        self.write(f"environment.trace.branch({site}, ")
        super().visit(node, *args, **kwargs)
        self.write(")")
        return None

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        # Constants would be glued together into one literal; each must stay a piece of its own.
        raise nodes.Impossible()

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write(f"environment.trace.emit({node.__dict__.get('_output_site', -1)}, ")

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write(")")


class TracingEnvironment(ChatEnvironment):
    """A chat environment whose templates report to ``trace``."""

    code_generator_class = TracingCodeGenerator
    trace: Trace


def mark_sites(tree: nodes.Template, source: SourceMap) -> list[Site]:
    """Mark every branch test and printed expression of a syntax tree; give back the sites, indexed by their number."""
    sites: list[Site] = []

    def add(kind: str, span: tuple[int, int]) -> int:
        sites.append(Site(len(sites), kind, *span))
        return len(sites) - 1

    for node in walk(tree):
        if isinstance(node, nodes.If):
            keyword = source.tokens[source.token_index(offset_of(node))].text
            kind = "if" if keyword == "if" else "elif"
            node.test.__dict__["_branch_site"] = add(kind, source.test_range(node))
        elif isinstance(node, nodes.CondExpr):
            node.test.__dict__["_branch_site"] = add("inline-if", source.expression_range(node.test))
        elif isinstance(node, nodes.For):
            if node.test is not None:
                node.test.__dict__["_branch_site"] = add("loop-filter", source.expression_range(node.test))
        elif isinstance(node, nodes.Output):
            for child in node.nodes:
                child.__dict__["_output_site"] = add("output", _output_range(child, source))
    return sites


def _output_range(child: nodes.Expr, source: SourceMap) -> tuple[int, int]:
    if isinstance(child, nodes.TemplateData):
        start = offset_of(child)
        return start, start + len(child.data)
    return source.expression_range(child)


def place_of(site: Site, source: SourceMap) -> Place:
    """Where a site stands in the template."""
    return source.place(site.start, site.end)
