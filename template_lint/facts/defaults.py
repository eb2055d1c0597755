"""Names that a template sets where the caller did not: kwargs with a default of the template's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jinja2 import nodes

from template_lint.rendering.positions import walk

_LATER = frozenset({"target", "targets"})
_BODIES = frozenset({"body", "else_"})


def defaults_of(tree: nodes.Template) -> dict[str, list[Any]]:
    """Name -> the constants that the template gives it, for each name that is read before the template sets it.

    ``{% if not thinking is defined %}{% set thinking = false %}{% endif %}`` asks the caller first. Order is that of
    evaluation; what a macro reads is read when it is called, and does not count.
    """
    set_names: set[str] = set()
    asked: set[str] = set()
    constants: dict[str, list[Any]] = {}
    stack: list[nodes.Node] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Name):
            if node.ctx != "load":
                set_names.add(node.name)
            elif node.name not in set_names:
                asked.add(node.name)
        elif isinstance(node, nodes.Macro):
            set_names.add(node.name)
        else:
            if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name):
                constants.setdefault(node.target.name, []).extend(_outcomes(node.node))
            stack.extend(reversed(list(_children(node))))
    return {name: constants.get(name, []) for name in sorted(asked & set_names)}


def asks_caller(tree: nodes.Template, name: str) -> bool:
    """Whether on some way through the template it reads a name before it has set it.

    What one branch sets is not set in the others, nor after them unless each of them sets it somewhere. What a macro
    reads does not count.
    """
    return _flow(tree.body, name, False)[0]


def _flow(body: Iterable[nodes.Node], name: str, known: bool) -> tuple[bool, bool]:
    """Whether statements read the name unset, and whether any of them sets it."""
    somewhere = known
    for node in body:
        if isinstance(node, nodes.Macro):
            continue
        own, ways = _parts(node)
        if not known and any(_mentions(part, name, read=True) for part in own):
            return True, somewhere
        sets = any(_mentions(getattr(node, field, None), name, read=False) for field in _LATER)
        inside = known or (sets and isinstance(node, nodes.For | nodes.With))
        ends = []
        for way in ways:
            asked, end = _flow(way, name, inside)
            if asked:
                return True, somewhere
            ends.append(end)
        if isinstance(node, nodes.If):
            known = all(ends)
            somewhere = somewhere or any(ends)
        elif isinstance(node, nodes.Assign | nodes.AssignBlock):
            known = known or sets
            somewhere = somewhere or sets
    return False, somewhere


def _parts(node: nodes.Node) -> tuple[list[Any], list[list[nodes.Node]]]:
    """What a statement itself evaluates, and the bodies of which it runs any or none."""
    if isinstance(node, nodes.If):
        tests = [node.test, *(other.test for other in node.elif_)]
        return tests, [node.body, *(other.body for other in node.elif_), node.else_]
    own = [value for field, value in node.iter_fields() if field not in _LATER | _BODIES]
    return own, [value for field, value in node.iter_fields() if field in _BODIES]


def _mentions(value: Any, name: str, *, read: bool) -> bool:
    """Whether an expression, or any of a list of them, reads the name; or sets it."""
    roots = [root for root in (value if isinstance(value, list) else [value]) if isinstance(root, nodes.Node)]
    found = (node for root in roots for node in walk(root) if isinstance(node, nodes.Name))
    return any(node.name == name and (node.ctx == "load") is read for node in found)


def _children(node: nodes.Node) -> Iterator[nodes.Node]:
    """The children of a node as they are evaluated: a value before the name that it is given to."""
    if isinstance(node, nodes.For):
        yield from (node.iter, node.target, *([node.test] if node.test else []), *node.body, *node.else_)
        return
    fields = [field for field in node.fields if field not in _LATER]
    if isinstance(node, nodes.With):
        fields = ["values", "targets", "body"]
    elif len(fields) < len(node.fields):
        fields += _LATER.intersection(node.fields)
    for field in fields:
        value = getattr(node, field, None)
        if type(value) is list:
            yield from (item for item in value if isinstance(item, nodes.Node))
        elif isinstance(value, nodes.Node):
            yield value


def _outcomes(value: nodes.Node) -> Iterator[Any]:
    """The constants that an expression can come to: ``x if x is defined else true`` to True."""
    stack: list[nodes.Node | None] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Const):
            yield node.value
        elif isinstance(node, nodes.Neg):
            stack.append(node.node)
        elif isinstance(node, nodes.CondExpr):
            stack += [node.expr2, node.expr1]
        elif isinstance(node, nodes.Or):
            stack += [node.right, node.left]
        elif isinstance(node, nodes.Filter) and node.name in ("default", "d"):
            stack += [*node.args[:1], node.node]
