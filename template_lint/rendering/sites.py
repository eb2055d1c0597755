"""The places of a template that a trace listens to, and the Python of the template with marks around them.

Jinja's own code generator writes the template once. Without the marks it is the plain code; with a call in place of
each mark, the traced one. The text of both is the same (the conformance tests hold both to it).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame

from template_lint.model import Place
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


# No template can write this character into the code: Jinja writes a template's text and names as Python literals.
_MARK = "\0"
_CLOSING = f"{_MARK}){_MARK}"


class MarkingCodeGenerator(CodeGenerator):
    """Jinja's code generator; writes marks around the nodes that ``mark_sites`` has marked."""

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:
        """Write the whole template. Jinja searches the whole tree three times for what chat templates hardly have."""
        everything = list(walk(node))
        node.__dict__["find_all"] = lambda kind: [found for found in everything if isinstance(found, kind)]
        try:
            super().visit_Template(node, frame)
        finally:
            del node.__dict__["find_all"]

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> Any:
        """Write a node: a constant that is printed as its text, a branch test that is marked between two marks."""
        constant = node.__dict__.get("_constant")
        if constant is not None:
            self.write(self._output_const_repr([constant]))
            return None
        site = node.__dict__.get("_branch_site")
        if site is None:
            return super().visit(node, *args, **kwargs)
        self.write(f"{_MARK}branch({site}{_MARK}")
        super().visit(node, *args, **kwargs)
        self.write(_CLOSING)
        return None

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        constant = super()._output_child_to_const(node, frame, finalize)
        if "_output_site" not in node.__dict__:
            return constant
        # Jinja would glue it to its neighbours in one literal; it must stay a piece of its own.
        node.__dict__["_constant"] = constant
        raise nodes.Impossible()

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if "_output_site" in node.__dict__:
            self.write(f"{_MARK}emit({node.__dict__['_output_site']}{_MARK}")
        if "_constant" not in node.__dict__:
            super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if "_constant" not in node.__dict__:
            super()._output_child_post(node, frame, finalize)
        if "_output_site" in node.__dict__:
            self.write(_CLOSING)


def plain_code(marked: str) -> str:
    """The code without its marks."""
    return re.sub(f"{_MARK}[^{_MARK}]*{_MARK}", "", marked)


def traced_code(marked: str) -> str:
    """The code with a call to the trace in place of each mark."""
    opened = re.sub(f"{_MARK}(\\w+\\(\\d+){_MARK}", r"environment.trace.\1, ", marked)
    return opened.replace(_CLOSING, ")")
