"""Which values an expression can have, as far as the constants of the template decide it. Nothing is rendered.

Names are followed through ``set``, ``for`` over constants, ``with``, namespaces, macro arguments and set-blocks.
Bounded in depth, steps, and the size of what is built: templates are written by strangers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

from jinja2 import nodes

from template_lint.facts import operations
from template_lint.facts.budget import Budget
from template_lint.facts.static import StaticFacts

_MOST_VALUES = 16
_MOST_DEPTH = 40
_MOST_ROUNDS = 2  # a name that is set from itself

Values = list[Any]
"""Possible values; empty where nothing is known."""


class Element(NamedTuple):
    """A name bound to each element of what ``iterable`` gives; ``part`` where the element is unpacked."""

    iterable: nodes.Node
    part: int | None


Source = nodes.Node | Element
"""What a name is set to."""


class Constants:
    """Folds expressions of one template; ``budget`` says whether all of them could be followed to the end."""

    def __init__(self, static: StaticFacts) -> None:
        self._sources: dict[Any, list[Source]] = {}
        self._macros: dict[str, list[nodes.Macro]] = {}
        self._busy: dict[Any, int] = {}
        self.budget = Budget(_MOST_DEPTH)
        _collect(static, self._sources, self._macros)

    def values(self, node: nodes.Node | None) -> Values:
        """The values that ``node`` can have; empty where constants do not decide."""
        if isinstance(node, nodes.Const):
            return [node.value] if _small(node.value) else []
        fold = None if node is None else _FOLDS.get(type(node))
        if fold is None or not self.budget.enter():
            return []
        try:
            return [value for value in fold(self, node)[:_MOST_VALUES] if _small(value)]
        except Exception:  # whatever Python says of such an operation: no value
            return []
        finally:
            self.budget.leave()

    def strings(self, node: nodes.Node | None) -> list[str]:
        """The values that are texts, or lists of texts, flattened."""
        found: list[str] = []
        for value in self.values(node):
            if isinstance(value, str):
                found.append(value)
            elif isinstance(value, list | tuple):
                found += [item for item in value if isinstance(item, str)]
        return found

    def sources(self, name: Any) -> list[Source]:
        """What a name, or (namespace name, attribute), is set to anywhere in the template."""
        return self._sources.get(name, [])

    def _of_name(self, name: Any) -> Values:
        if self._busy.get(name, 0) >= _MOST_ROUNDS:
            return []
        self._busy[name] = self._busy.get(name, 0) + 1
        try:
            found: Values = []
            for source in self._sources.get(name, [])[:_MOST_VALUES]:
                found += self._of_source(source)
            return found
        finally:
            self._busy[name] -= 1

    def _of_source(self, source: Source) -> Values:
        if isinstance(source, nodes.Node):
            return self.values(source)
        items = [item for value in self.values(source.iterable) for item in list(value)[:_MOST_VALUES]]
        return items if source.part is None else [item[source.part] for item in items]

    def _all(self, parts: Iterable[nodes.Node]) -> Iterable[tuple[Any, ...]]:
        """Every combination of the values of ``parts``; none where one of them is not known."""
        columns = [self.values(part) for part in parts]
        count = 1
        for column in columns:
            count *= len(column)
        return product(*columns) if count <= _MOST_VALUES else ()

    def _block(self, body: list[nodes.Node]) -> Values:
        """The text of a body that only prints constants."""
        parts: list[nodes.Node] = []
        for statement in body:
            if isinstance(statement, nodes.Output):
                parts += statement.nodes
            elif not isinstance(statement, nodes.Assign):
                return []
        return ["".join(map(str, texts)) for texts in self._all(parts)]


def _small(value: Any) -> bool:
    if isinstance(value, str | bytes | list | tuple | dict):
        return len(value) <= operations.MOST_SIZE
    return not isinstance(value, int) or abs(value) < 2**64


def _collect(static: StaticFacts, sources: dict[Any, list[Source]], macros: dict[str, list[nodes.Macro]]) -> None:
    def add(name: Any, source: Source) -> None:
        sources.setdefault(name, []).append(source)

    def bind(target: nodes.Node, value: nodes.Node) -> None:
        if isinstance(target, nodes.NSRef):
            add((target.name, target.attr), value)
        elif isinstance(target, nodes.Name):
            add(target.name, value)
            if isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
                for keyword in value.kwargs:
                    add((target.name, keyword.key), keyword.value)
        elif isinstance(target, nodes.Tuple):
            for index, part in enumerate(target.items):
                if isinstance(part, nodes.Name):
                    add(part.name, Element(nodes.List([value]), index))

    for assign in static.of(nodes.Assign):
        bind(assign.target, assign.node)
    for block in static.of(nodes.AssignBlock):
        bind(block.target, block)
    for loop in static.of(nodes.For):
        if isinstance(loop.target, nodes.Name):
            add(loop.target.name, Element(loop.iter, None))
        elif isinstance(loop.target, nodes.Tuple):
            for index, part in enumerate(loop.target.items):
                if isinstance(part, nodes.Name):
                    add(part.name, Element(loop.iter, index))
    for scope in static.of(nodes.With):
        for target, value in zip(scope.targets, scope.values, strict=False):
            bind(target, value)
    for macro in static.of(nodes.Macro):
        macros.setdefault(macro.name, []).append(macro)
        for argument, default in zip(reversed(macro.args), reversed(macro.defaults), strict=False):
            add(argument.name, default)
    for call in static.of(nodes.Call):
        if isinstance(call.node, nodes.Name):
            for macro in macros.get(call.node.name, ()):
                for argument, value in zip(macro.args, call.args, strict=False):
                    add(argument.name, value)
                for keyword in call.kwargs:
                    add(keyword.key, keyword.value)


def _data(self: Constants, node: nodes.TemplateData) -> Values:
    return [node.data]


def _name(self: Constants, node: nodes.Name) -> Values:
    return self._of_name(node.name)


def _concat(self: Constants, node: nodes.Concat) -> Values:
    return ["".join(map(str, parts)) for parts in self._all(node.nodes)]


def _binary(operation: Callable[[Any, Any], Any]) -> Callable[[Constants, Any], Values]:
    def fold(self: Constants, node: nodes.BinExpr) -> Values:
        return [operation(left, right) for left, right in self._all([node.left, node.right])]

    return fold


def _items(self: Constants, node: nodes.List | nodes.Tuple) -> Values:
    return [list(values) for values in self._all(node.items[: operations.MOST_SIZE])]


def _dict(self: Constants, node: nodes.Dict) -> Values:
    found: dict[Any, Any] = {}
    for pair in node.items[: operations.MOST_SIZE]:
        values = self.values(pair.value)
        for key in self.values(pair.key):
            found[key] = values[0] if values else None
    return [found]


def _attribute(self: Constants, node: nodes.Getattr) -> Values:
    found = self._of_name((node.node.name, node.attr)) if isinstance(node.node, nodes.Name) else []
    return found + [value[node.attr] for value in self.values(node.node) if isinstance(value, dict)]


def _item(self: Constants, node: nodes.Getitem) -> Values:
    if isinstance(node.arg, nodes.Slice):
        slices: list[Any] = []
        parts = [part for part in (node.arg.start, node.arg.stop, node.arg.step) if part is not None]
        for known in self._all(parts):
            given = iter(known)
            slices.append(
                slice(
                    *(None if part is None else next(given) for part in (node.arg.start, node.arg.stop, node.arg.step))
                )
            )
        return [value[part] for value in self.values(node.node) for part in slices]
    return [value[key] for value, key in self._all([node.node, node.arg])]


def _either(self: Constants, node: nodes.CondExpr) -> Values:
    return self.values(node.expr1) + self.values(node.expr2)


def _any_side(self: Constants, node: nodes.BinExpr) -> Values:
    return self.values(node.left) + self.values(node.right)


def _negative(self: Constants, node: nodes.Neg) -> Values:
    return [-value for value in self.values(node.node)]


def _set_block(self: Constants, node: nodes.AssignBlock) -> Values:
    texts = self._block(node.body)
    filters: list[nodes.Filter] = []
    current: nodes.Node | None = node.filter
    while isinstance(current, nodes.Filter):
        filters.append(current)
        current = current.node
    for each in reversed(filters):
        texts = [_apply(self, each, text) for text in texts]
    return texts


def _filter(self: Constants, node: nodes.Filter) -> Values:
    found = [_apply(self, node, value) for value in self.values(node.node)]
    if node.name in ("default", "d") and node.args:
        found += self.values(node.args[0])
    return found


def _apply(self: Constants, node: nodes.Filter, value: Any) -> Any:
    [arguments] = self._all(node.args) if node.args else [()]
    return operations.FILTERS[node.name](value, *arguments)


def _call(self: Constants, node: nodes.Call) -> Values:
    if isinstance(node.node, nodes.Name):
        return _function(self, node, node.node.name)
    if not isinstance(node.node, nodes.Getattr):
        return []
    found = []
    for value, *arguments in self._all([node.node.node, *node.args]):
        found.append(operations.method(value, node.node.attr, arguments))
    return found


def _function(self: Constants, node: nodes.Call, name: str) -> Values:
    if name == "dict":  # dict(__cla=1, ss__=1)|join
        return [{keyword.key: None for keyword in node.kwargs}]
    if name == "range":
        return [list(range(*numbers)[:_MOST_VALUES]) for numbers in self._all(node.args)]
    return [text for macro in self._macros.get(name, ())[:_MOST_VALUES] for text in self._block(macro.body)]


_FOLDS: dict[type[nodes.Node], Callable[[Constants, Any], Values]] = {
    nodes.TemplateData: _data,
    nodes.Name: _name,
    nodes.Concat: _concat,
    nodes.Add: _binary(lambda left, right: left + right),
    nodes.Sub: _binary(lambda left, right: left - right),
    nodes.Mul: _binary(operations.times),
    nodes.Mod: _binary(operations.percent),
    nodes.List: _items,
    nodes.Tuple: _items,
    nodes.Dict: _dict,
    nodes.Getattr: _attribute,
    nodes.Getitem: _item,
    nodes.CondExpr: _either,
    nodes.Or: _any_side,
    nodes.And: _any_side,
    nodes.Neg: _negative,
    nodes.AssignBlock: _set_block,
    nodes.Filter: _filter,
    nodes.Call: _call,
}
