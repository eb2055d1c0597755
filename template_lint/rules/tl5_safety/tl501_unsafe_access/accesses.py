"""Every place of a template that reads an attribute or item whose name leads out of the sandbox."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.rendering.environment import MUTATORS
from template_lint.rendering.positions import SourceMap, offset_of

ESCAPES = frozenset(
    {"mro", "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "ag_frame", "ag_code", "tb_frame", "tb_next"}
    | {"f_back", "f_builtins", "f_code", "f_globals", "f_locals", "func_globals", "func_code", "func_defaults"}
    | {"im_class", "im_func", "im_self", "co_code", "co_consts", "format_map"}
)
"""Attributes of Python's own objects that sandboxes refuse, and the method that ``format`` has as a twin."""

_FUNCTIONS = frozenset({"lipsum", "cycler", "joiner", "range", "dict", "namespace", "raise_exception", "strftime_now"})
_BY_NAME = frozenset({"map", "groupby", "sort", "sum", "unique", "min", "max", "join"})
_TESTED = frozenset({"selectattr", "rejectattr"})
_FIELD = r"\{[^{}]*\}"
_PRIVATE = r"[.\[]\s*_"


class Access(NamedTuple):
    """``how`` is the way in words, ``start`` and ``end`` the range of its source, ``tag`` tells the tags
    of the template apart.
    """

    how: str
    name: str
    start: int
    end: int
    tag: int
    assembled: bool


def unsafe_accesses(facts: TemplateFacts) -> list[Access]:
    """All of them, in source order."""
    finder = _Finder(facts)
    return sorted(finder.find(), key=lambda access: access.start)


def refused(facts: TemplateFacts) -> list[tuple[str, str, int | None]]:
    """(name, type, line) of what the sandbox refused in renders so far, mutating methods aside."""
    return [(name, kind, line) for (name, kind), line in facts.template.refusals.items() if name not in MUTATORS]


def _unsafe(name: object) -> bool:
    return isinstance(name, str) and any(part.startswith("_") or part in ESCAPES for part in name.split("."))


class _Finder:
    def __init__(self, facts: TemplateFacts) -> None:
        self.static = facts.static
        self.source = facts.template.source_map
        self.constants = facts.constants
        self.formats = any(node.attr in ("format", "format_map") for node in facts.static.kinds.get(nodes.Getattr, ()))
        self.called = {id(call.node) for call in facts.static.kinds.get(nodes.Call, ())}

    @cached_property
    def ends(self) -> list[int]:
        """Indices of the tokens that close a tag."""
        tokens = enumerate(self.source.tokens)
        return [index for index, token in tokens if token.kind in ("block_end", "variable_end")]

    def find(self) -> Iterator[Access]:
        for node in self.static.kinds.get(nodes.Getattr, ()):
            yield from self._attribute(node)
        for node in self.static.kinds.get(nodes.Getitem, ()):
            yield from self._item(node)
        for node in self.static.kinds.get(nodes.Filter, ()):
            yield from self._filter(node)
        for node in self.static.kinds.get(nodes.Const, ()):
            if self.formats and isinstance(node.value, str) and "{" in node.value:
                yield from self._format_string(node)

    def _attribute(self, node: nodes.Getattr) -> Iterator[Access]:
        if _unsafe(node.attr):
            yield self._access("reads", node.attr, node)
        elif node.attr == "format" and id(node) not in self.called and self._is_text(node.node):
            yield self._access("takes as a value", "format", node)

    def _is_text(self, node: nodes.Node) -> bool:
        """Whether a node is surely a text: a mapping may have a key ``format``."""
        if isinstance(node, nodes.Concat) or (
            isinstance(node, nodes.Filter) and node.name in ("string", "join", "trim")
        ):
            return True
        return any(isinstance(value, str) for value in self.constants.values(node))

    def _item(self, node: nodes.Getitem) -> Iterator[Access]:
        if isinstance(node.arg, nodes.Const):
            if _unsafe(node.arg.value):
                yield self._access("reads", node.arg.value, node)
            elif node.arg.value == "format" and id(node) not in self.called and self._is_text(node.node):
                yield self._access("takes as a value", "format", node)
            return
        if isinstance(node.arg, nodes.Slice):
            return
        unsafe = [value for value in self.constants.values(node.arg) if _unsafe(value)]
        for value in unsafe:
            yield self._access("reads", value, node)
        if not unsafe:
            yield from self._function(node.node, node)

    def _filter(self, node: nodes.Filter) -> Iterator[Access]:
        if node.name == "attr" and node.args:
            values = self.constants.strings(node.args[0])
            bad = [value for value in values if _unsafe(value) or value == "format"]
            for value in bad:
                yield self._access("reads", value, node)
            if not bad:
                yield from self._function(node.node, node)
            return
        if node.name in _BY_NAME | _TESTED:
            named = [keyword.value for keyword in node.kwargs if keyword.key == "attribute"]
            if node.name in _TESTED | {"groupby"}:
                named += node.args[:1]
            elif node.name == "map":
                if any(value == "attr" for argument in node.args[:1] for value in self.constants.strings(argument)):
                    named += node.args[1:2]
            elif node.name == "join":
                named += node.args[1:2]
            for argument in named:
                for value in self.constants.strings(argument):
                    if _unsafe(value):
                        yield self._access("reads", value, node)

    def _function(self, target: nodes.Node | None, node: nodes.Node) -> Iterator[Access]:
        """A name that is not known, looked up in something that has no items: a function."""
        if isinstance(target, nodes.Name) and target.name in _FUNCTIONS and not self.constants.sources(target.name):
            yield self._access("reaches into", target.name, node)

    def _format_string(self, node: nodes.Const) -> Iterator[Access]:
        """A format string whose field walks to a private name, where something formats it."""
        for field in re.findall(_FIELD, node.value):
            if re.search(_PRIVATE, field):
                yield self._access("formats", field, node)

    def _access(self, how: str, name: str, node: nodes.Node) -> Access:
        start, end, last = _range(self.source, node)
        # Not from the tree: the compiler has folded its constants.
        assembled = name not in self.source.text[start:end]
        return Access(how, name, start, end, bisect_left(self.ends, last), assembled)


def _range(source: SourceMap, node: nodes.Node) -> tuple[int, int, int]:
    """From the node's own token (``.``, ``[``, the filter's name, the constant) to the end of what belongs to it; and
    the index of the last token.
    """
    index = source.token_index(max(offset_of(node), 0))
    first = source.tokens[index]
    last = index
    if isinstance(node, nodes.Getattr):
        last = index + 1 if first.text == "." else index
    elif isinstance(node, nodes.Getitem) or (isinstance(node, nodes.Filter) and _opens(source, index + 1)):
        if isinstance(node, nodes.Filter):
            last += 1
        depth = 0
        while last < len(source.tokens):
            depth += (source.tokens[last].text in ("(", "[", "{")) - (source.tokens[last].text in (")", "]", "}"))
            if depth == 0:
                break
            last += 1
    last = min(last, len(source.tokens) - 1)
    return first.offset, source.tokens[last].end, last


def _opens(source: SourceMap, index: int) -> bool:
    return index < len(source.tokens) and source.tokens[index].text == "("
