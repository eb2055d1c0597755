"""Which field of the conversation a value comes from, followed through names, filters, methods, macros and blocks."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import nodes

from template_lint.facts.budget import Budget
from template_lint.facts.constants import Constants, Element, Source
from template_lint.rendering.positions import walk

CONTENT = "content"
"""Text of a message: its content, a text part, its reasoning."""

PART = "part"
"""An element of a content: a mapping with a type, or a character."""

ROLE = "role"

_FIELDS = {
    **dict.fromkeys(("content", "text", "reasoning_content", "reasoning", "thinking"), CONTENT),
    "role": ROLE,
}
_TO_NUMBER = frozenset({"length", "count", "wordcount", "int", "float", "items", "type"})
PREDICATES = frozenset({"startswith", "endswith", "find", "rfind", "index", "rindex", "count"})
"""Methods of a text that look for another text in it."""

_NO_TEXT = PREDICATES | {"isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "items", "keys"}
_KEEPS_MESSAGES = frozenset({"list", "reverse", "first", "last", "selectattr", "rejectattr"})
_AS_TEXT = frozenset({"tojson", "string", "pprint"})
_MOST_DEPTH = 60

Origins = frozenset[str]
_NONE: Origins = frozenset()


class OriginFinder:
    """Finds origins in one template; ``budget`` says whether all of them could be followed to the end."""

    def __init__(self, constants: Constants) -> None:
        self._constants = constants
        self._busy: set[object] = set()
        self.budget = Budget(_MOST_DEPTH)

    def of(self, node: nodes.Node | None) -> Origins:
        """The fields whose text is (part of) the value of ``node``."""
        if node is None or not self.budget.enter():
            return _NONE
        try:
            return self._of(node)
        finally:
            self.budget.leave()

    def _of(self, node: nodes.Node) -> Origins:
        if isinstance(node, nodes.Name):
            return self._of_name(node.name)
        if isinstance(node, nodes.Getattr):
            return self._of_key(node.node, node.attr)
        if isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                return self._of_key(node.node, node.arg.value)
            return self.of(node.node)
        if isinstance(node, nodes.Filter):
            return self._of_filter(node)
        if isinstance(node, nodes.Call):
            return self._of_call(node)
        if isinstance(node, nodes.Concat):
            return self._union(node.nodes)
        if isinstance(node, nodes.BinExpr):
            return self._union([node.left, node.right])
        if isinstance(node, nodes.CondExpr):
            return self._union([node.expr1, node.expr2])
        if isinstance(node, nodes.AssignBlock):
            return self._union(self._printed(node.body))
        return _NONE

    def _union(self, parts: Sequence[nodes.Node | None]) -> Origins:
        return _NONE.union(*(self.of(part) for part in parts))

    def _printed(self, body: list[nodes.Node]) -> list[nodes.Expr]:
        return [
            child
            for statement in body
            for output in walk(statement)
            if isinstance(output, nodes.Output)
            for child in output.nodes
        ]

    def _of_name(self, name: object) -> Origins:
        if name in self._busy:
            return _NONE
        self._busy.add(name)
        try:
            return _NONE.union(*(self._of_source(source) for source in self._constants.sources(name)))
        finally:
            self._busy.discard(name)

    def _of_source(self, source: Source) -> Origins:
        if isinstance(source, nodes.Node):
            return self.of(source)
        return self._of_element(source)

    def _of_element(self, source: Element) -> Origins:
        origins = self.of(source.iterable)
        if CONTENT in origins and not isinstance(source.iterable, nodes.Call):
            return origins - {CONTENT} | {PART}
        return origins

    def _of_key(self, owner: nodes.Node, key: str) -> Origins:
        own = self._of_name((owner.name, key)) if isinstance(owner, nodes.Name) else _NONE
        return own | {_FIELDS[key]} if key in _FIELDS else own

    def _of_filter(self, node: nodes.Filter) -> Origins:
        if node.name in _TO_NUMBER:
            return _NONE
        if node.name == "map":
            for keyword in node.kwargs:
                if keyword.key == "attribute":
                    return frozenset(_FIELDS[key] for key in self._constants.strings(keyword.value) if key in _FIELDS)
        if node.name in ("default", "d"):
            return self._union([node.node, *node.args[:1]])
        if node.name in _AS_TEXT and self._holds_messages(node.node):
            return frozenset({CONTENT})
        return self.of(node.node)

    def _holds_messages(self, node: nodes.Node | None) -> bool:
        """Whether a value is the conversation, a part of it, or one of its messages."""
        if not isinstance(node, nodes.Name | nodes.Getitem | nodes.Filter) or not self.budget.enter():
            return False
        try:
            if isinstance(node, nodes.Getitem):
                key = isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)
                return not key and self._holds_messages(node.node)
            if isinstance(node, nodes.Filter):
                return node.name in _KEEPS_MESSAGES and self._holds_messages(node.node)
            return node.name == "messages" or self._is_set_to_messages(node.name)
        finally:
            self.budget.leave()

    def _is_set_to_messages(self, name: str) -> bool:
        key = ("messages", name)
        if key in self._busy:
            return False
        self._busy.add(key)
        try:
            sources = self._constants.sources(name)
            return any(self._holds_messages(s if isinstance(s, nodes.Node) else s.iterable) for s in sources)
        finally:
            self._busy.discard(key)

    def _of_call(self, node: nodes.Call) -> Origins:
        target = node.node
        if isinstance(target, nodes.Name):
            return self._union(node.args)
        if not isinstance(target, nodes.Getattr) or target.attr in _NO_TEXT:
            return _NONE
        if target.attr == "get" and node.args:
            found = [_FIELDS[key] for key in self._constants.strings(node.args[0]) if key in _FIELDS]
            return frozenset(found)
        if target.attr == "join":
            return self._union(node.args)
        return self.of(target.node)
