"""Expressions that look past the current message, and which of them to suspect where no cause can be proven."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from template_lint.rendering.positions import offset_of, walk

_LOOP_LOOKAHEADS = frozenset({"last", "nextitem", "revindex", "revindex0", "length"})
_FILTER_LOOKAHEADS = frozenset({"last", "length", "count", "reverse"})


def lookaheads(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """Expressions that look past the current message, in source order: ``loop.last``, ``messages[-1]``, ``| length``
    ...
    """
    found: list[nodes.Expr] = []
    for node in walk(tree):
        if isinstance(node, nodes.Getattr):
            if node.attr in _LOOP_LOOKAHEADS and isinstance(node.node, nodes.Name) and node.node.name == "loop":
                found.append(node)
        elif isinstance(node, nodes.Getitem):
            if _looks_ahead(node.arg) and _is_history(node.node):
                found.append(node)
        elif isinstance(node, nodes.Filter) and node.name in _FILTER_LOOKAHEADS and _is_history(node.node):
            found.append(node)
    yield from sorted(found, key=offset_of)


def _is_history(node: nodes.Node | None) -> bool:
    """Whether an expression is the list of messages, by the name it goes by."""
    return node is not None and any(isinstance(child, nodes.Name) and "message" in child.name for child in walk(node))


def _looks_ahead(index: nodes.Node) -> bool:
    if isinstance(index, nodes.Slice | nodes.Neg):
        return True
    if isinstance(index, nodes.Const):
        return isinstance(index.value, int) and index.value < 0
    return isinstance(index, nodes.Add)


def suspects(tree: nodes.Template) -> Iterator[nodes.Expr]:
    """Those of lookaheads() that a later message can change, in source order.

    Not ``loop.last`` of a loop over tools or calls, not ``messages[1:]`` where it only leaves the first message out of
    what is gone through, and not whether there is any message.
    """
    apart = _names_apart_from_messages(tree)
    innocent = {id(node) for loop in _loops(tree) if not _over_messages(loop.iter, apart) for node in _own(loop)}
    innocent |= {id(node.expr) for node in walk(tree) if isinstance(node, nodes.Compare) and _with_nothing(node)}
    innocent |= {id(rest) for rest in _gone_through(tree) if _leaves_out_the_first(rest)}
    yield from (node for node in lookaheads(tree) if id(node) not in innocent)


def _loops(tree: nodes.Node) -> Iterator[nodes.For]:
    return (node for node in walk(tree) if isinstance(node, nodes.For))


def _own(loop: nodes.For) -> Iterator[nodes.Node]:
    """What stands in a loop and in none inside it: the ``loop`` there is its own."""
    stack: list[nodes.Node] = [*loop.body, *loop.else_]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, nodes.For):
            stack.append(node.iter)
        else:
            stack.extend(node.iter_child_nodes())


def _names_apart_from_messages(tree: nodes.Template) -> set[str]:
    """Names that are set, and never to anything that could be of the conversation: its names are in no value."""
    readers: dict[str, set[str]] = {}
    names: set[str] = set()
    for node in walk(tree):
        if isinstance(node, nodes.Assign | nodes.For):
            value = node.node if isinstance(node, nodes.Assign) else node.iter
            targets = {child.name for child in walk(node.target) if isinstance(child, nodes.Name | nodes.NSRef)}
            names |= targets
            for child in walk(value):
                if isinstance(child, nodes.Name):
                    readers.setdefault(child.name, set()).update(targets)
    near = {name for name in names | readers.keys() if "message" in name}
    pending = list(near)
    while pending:
        more = readers.get(pending.pop(), set()) - near
        near |= more
        pending += more
    return names - near


def _over_messages(node: nodes.Node, apart: set[str]) -> bool:
    """Whether a loop goes over the conversation, by the name of what it goes over."""
    while isinstance(node, nodes.Filter | nodes.Getitem | nodes.CondExpr) and not _reads_field(node):
        inner = node.expr1 if isinstance(node, nodes.CondExpr) else node.node
        if inner is None:
            return False
        node = inner
    name = node.name if isinstance(node, nodes.Name) else node.attr if isinstance(node, nodes.Getattr) else ""
    by_name = "messages" in name or (isinstance(node, nodes.Name) and "tool" not in name and "call" not in name)
    return by_name and name not in apart


def _reads_field(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)


def _gone_through(tree: nodes.Node) -> Iterator[nodes.Node]:
    """What names are set to, and what loops go over; both sides of a choice."""
    values = [node.node for node in walk(tree) if isinstance(node, nodes.Assign)] + [loop.iter for loop in _loops(tree)]
    while values:
        value = values.pop()
        if isinstance(value, nodes.CondExpr):
            values += [side for side in (value.expr1, value.expr2) if side is not None]
        else:
            yield value


def _with_nothing(node: nodes.Compare) -> bool:
    return all(isinstance(operand.expr, nodes.Const) and operand.expr.value == 0 for operand in node.ops)


def _leaves_out_the_first(node: nodes.Node) -> bool:
    if not isinstance(node, nodes.Getitem) or not isinstance(node.arg, nodes.Slice):
        return False
    start, stop = node.arg.start, node.arg.stop
    return stop is None and isinstance(start, nodes.Const) and isinstance(start.value, int) and start.value >= 0
