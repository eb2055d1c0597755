"""Every place of a template that looks for a literal in the text of a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.origins import CONTENT, PREDICATES

_REMOVING = frozenset({"replace", "removeprefix", "removesuffix"})
_EQUAL = frozenset({"eq", "equalto", "==", "ne", "!=", "in", "sameas"})


class Comparison(NamedTuple):
    """``literal`` is looked for in a content, or is compared with the ``whole`` of it; ``node`` is where."""

    literal: str
    node: nodes.Node
    whole: bool = False


def content_comparisons(facts: TemplateFacts) -> Iterator[Comparison]:
    """All of them, in no particular order."""
    kinds = facts.static.kinds
    keyed = {
        (item.node.name, item.arg.name)
        for item in kinds.get(nodes.Getitem, ())
        if isinstance(item.arg, nodes.Name) and isinstance(item.node, nodes.Name)
    }
    for comparison in kinds.get(nodes.Compare, ()):
        yield from _comparison(facts, comparison, keyed)
    for call in kinds.get(nodes.Call, ()):
        yield from _call(facts, call)
    for test in kinds.get(nodes.Test, ()):
        if test.name in _EQUAL and test.args and _is_content(facts, test.node):
            yield from _literals(facts, test.args[0], test, whole=True)
    for each in kinds.get(nodes.Filter, ()):
        yield from _filter(facts, each)
    for item in kinds.get(nodes.Getitem, ()):
        if not isinstance(item.arg, nodes.Const | nodes.Slice) and _is_content(facts, item.arg):
            yield from _keys(facts, item.node, item)


def _is_content(facts: TemplateFacts, node: nodes.Node | None) -> bool:
    return CONTENT in facts.origins.of(node)


def _literals(
    facts: TemplateFacts, node: nodes.Node, place: nodes.Node, *, whole: bool = False
) -> Iterator[Comparison]:
    for text in facts.constants.strings(node):
        yield Comparison(text, place, whole)


def _keys(facts: TemplateFacts, mapping: nodes.Node, place: nodes.Node) -> Iterator[Comparison]:
    for value in facts.constants.values(mapping):
        if isinstance(value, dict):
            for key in value:
                if isinstance(key, str):
                    yield Comparison(key, place, whole=True)


def _comparison(facts: TemplateFacts, node: nodes.Compare, keyed: set[tuple[str, str]]) -> Iterator[Comparison]:
    left = node.expr
    for operand in node.ops:
        right = operand.expr
        if operand.op in ("eq", "ne", "in", "notin") and not _is_key_test(left, right, keyed):
            if _is_content(facts, right):
                yield from _literals(facts, left, node, whole=operand.op in ("eq", "ne"))
            if _is_content(facts, left):
                yield from _literals(facts, right, node, whole=True)
            if operand.op in ("eq", "ne") and _is_content(facts, left) and _is_content(facts, right):
                for side in (left, right):
                    yield from _replaced(facts, side, node)
        left = right


def _replaced(facts: TemplateFacts, side: nodes.Node, place: nodes.Node) -> Iterator[Comparison]:
    """What is taken out of a content before it is compared with a content: whether it was in there."""
    method = side.node if isinstance(side, nodes.Call) else None
    by_method = isinstance(method, nodes.Getattr) and method.attr in _REMOVING
    if isinstance(side, nodes.Filter | nodes.Call) and (by_method or getattr(side, "name", "") == "replace"):
        for argument in side.args[:1]:
            yield from _literals(facts, argument, place)


def _is_key_test(key: nodes.Node, owner: nodes.Node, keyed: set[tuple[str, str]]) -> bool:
    """``key in owner`` where the template also reads ``owner[key]``: a mapping."""
    return isinstance(key, nodes.Name) and isinstance(owner, nodes.Name) and (owner.name, key.name) in keyed


def _call(facts: TemplateFacts, node: nodes.Call) -> Iterator[Comparison]:
    target = node.node
    if not isinstance(target, nodes.Getattr) or not node.args:
        return
    if target.attr in PREDICATES and _is_content(facts, target.node):
        for argument in node.args:
            yield from _literals(facts, argument, node)
    elif target.attr == "get" and _is_content(facts, node.args[0]):
        yield from _keys(facts, target.node, node)


def _filter(facts: TemplateFacts, node: nodes.Filter) -> Iterator[Comparison]:
    if node.name in ("selectattr", "rejectattr") and len(node.args) == 3:
        if "content" in facts.constants.strings(node.args[0]):
            yield from _literals(facts, node.args[2], node, whole=True)
    elif node.name in ("select", "reject") and len(node.args) == 2 and _is_content(facts, node.node):
        yield from _literals(facts, node.args[1], node)
    elif node.name in ("length", "count") and isinstance(node.node, nodes.Call):
        call = node.node
        if isinstance(call.node, nodes.Getattr) and call.node.attr == "split" and _is_content(facts, call.node.node):
            for argument in call.args[:1]:
                yield from _literals(facts, argument, node)
