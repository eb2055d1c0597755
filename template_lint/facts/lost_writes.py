"""Data flow through loops: names that are set inside ``{% for %}`` and read where the loop's value cannot arrive.

In Jinja a ``set`` inside a loop makes a name of the loop's body: it is gone with the iteration, and outside, as at the
beginning of the next iteration, the outer value is what it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from jinja2 import nodes

_SET = re.compile(r"\{%[-+]?\s*set\s+(\w+)\s*[=|%-]")
_SCOPES = {nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.With, nodes.Block}
_STATEMENTS = {nodes.If, nodes.Assign, nodes.For, nodes.AssignBlock, *_SCOPES}
MOST_USES = 500
"""Each use of a name is compared with the others: strangers write templates that use one many thousand times."""

_LEAVES = {nodes.TemplateData, nodes.Const, nodes.NSRef}

Path = tuple[tuple[int, int], ...]
"""What encloses a node, outermost first: (identity of the statement, number of its branch)."""


class LostWrite(NamedTuple):
    """``write`` sets a name that ``read`` never sees: because it comes after the loop, or in the next iteration.

    ``unset``: no ``set`` outside the loop gives the name another value.
    """

    name: str
    write: nodes.Name
    read: nodes.Name
    next_iteration: bool
    unset: bool = False


class _Use(NamedTuple):
    """One use of a name, number ``order`` of all."""

    node: nodes.Name
    order: int
    path: Path
    stores: bool


class _Walk:
    """All uses of the wanted names in the order in which they are evaluated, each with what encloses it."""

    def __init__(self, tree: nodes.Template, wanted: set[str]) -> None:
        self.uses: dict[str, list[_Use]] = {name: [] for name in sorted(wanted)}
        self.loops: dict[int, nodes.For] = {}
        self.scopes: set[int] = set()
        self._order = 0
        self._visit(tree, ())

    def _visit_all(self, items: Iterable[nodes.Node], path: Path) -> None:
        for item in items:
            self._visit(item, path)

    def _visit(self, node: nodes.Node, path: Path) -> None:
        kind = type(node)
        if kind is nodes.Name:
            if node.name in self.uses:  # type: ignore[attr-defined]
                self._use(node, path)  # type: ignore[arg-type]
        elif kind in _STATEMENTS:
            self._visit_statement(node, path)
        elif kind not in _LEAVES:
            for field in node.fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    self._visit_all([item for item in value if isinstance(item, nodes.Node)], path)
                elif isinstance(value, nodes.Node):
                    self._visit(value, path)

    def _use(self, node: nodes.Name, path: Path) -> None:
        self._order += 1
        self.uses[node.name].append(_Use(node, self._order, path, node.ctx != "load"))

    def _visit_statement(self, node: nodes.Node, path: Path) -> None:
        inside = (*path, (id(node), 0))
        if isinstance(node, nodes.If):
            self._visit(node.test, path)
            self._visit_all(node.body, inside)
            self._visit_all([*node.elif_, *node.else_], (*path, (id(node), 1)))
        elif isinstance(node, nodes.Assign):
            self._visit(node.node, path)
            self._visit(node.target, path)
        elif isinstance(node, nodes.For):
            self.loops[id(node)] = node
            self.scopes.add(id(node))
            self._visit(node.iter, path)
            self._visit_all([node.target, *([node.test] if node.test else []), *node.body], inside)
            self._visit_all(node.else_, path)
        elif isinstance(node, nodes.AssignBlock):
            self.scopes.add(id(node))
            self._visit_all(node.body, inside)
            self._visit(node.target, path)
        else:
            self.scopes.add(id(node))
            self._visit_all(node.iter_child_nodes(), inside)


def lost_writes(tree: nodes.Template, source: str) -> tuple[list[LostWrite], list[str]]:
    """The first lost write of each name, and the names that are used too often to be followed."""
    words = Counter(re.findall(r"\w+", source)) if "endfor" in source else Counter[str]()
    wanted = {name for name in _SET.findall(source) if words[name] > 1}
    if not wanted:
        return [], []
    walk = _Walk(tree, wanted)
    unfollowed = [name for name, uses in walk.uses.items() if len(uses) > MOST_USES]
    found = [_first_lost(name, uses, walk) for name, uses in walk.uses.items() if name not in unfollowed]
    return [lost for lost in found if lost is not None], unfollowed


def _first_lost(name: str, uses: list[_Use], walk: _Walk) -> LostWrite | None:
    writes = [use for use in uses if use.stores]
    if len(writes) == len(uses):
        return None
    for write in writes:
        loop = _innermost_scope(write, walk)
        if loop not in walk.loops or write.node is walk.loops[loop].target:
            continue
        found = _lost(name, write, loop, uses, walk) or _never_set(name, write, loop, uses, walk)
        if found is not None:
            return found
    return None


def _never_set(name: str, write: _Use, loop: int, uses: list[_Use], walk: _Walk) -> LostWrite | None:
    """A name that nothing sets but loops, read in the next iteration or after the loop."""
    inside = [use for use in uses if _within(use, loop)]
    if any(not use.stores and use.order > write.order and _reaches(write, use) for use in inside):
        return None
    around = _scopes(write, walk)
    for use in uses:
        elsewhere = _scopes(use, walk) - around
        if use.stores or not elsewhere <= walk.loops.keys() or _is_set_around(use, uses, walk):
            continue
        if use in inside:
            return LostWrite(name, write.node, use.node, True, unset=True)
        if use.order > write.order and not _exclusive(use.path, write.path):
            return LostWrite(name, write.node, use.node, False, unset=True)
    return None


def _is_set_around(read: _Use, uses: list[_Use], walk: _Walk) -> bool:
    """Whether a ``set`` before a read stands in the scope of the read or in one around it."""
    scopes = _scopes(read, walk)
    return any(use.stores and use.order < read.order and _scopes(use, walk) <= scopes for use in uses)


def _scopes(use: _Use, walk: _Walk) -> set[int]:
    return {node for node, _ in use.path if node in walk.scopes}


def _innermost_scope(use: _Use, walk: _Walk) -> int:
    return next((node for node, _ in reversed(use.path) if node in walk.scopes), 0)


def _lost(name: str, write: _Use, loop: int, uses: list[_Use], walk: _Walk) -> LostWrite | None:
    inside = [use for use in uses if _within(use, loop)]
    others = [use for use in uses if not _within(use, loop)]
    body_path = write.path[: _depth(write, loop)]
    if not any(use.stores and use.order < write.order and _visible(use, body_path, walk) for use in others):
        return None
    if any(not use.stores and use.order > write.order and _reaches(write, use) for use in inside):
        return None
    for use in inside:
        if not use.stores and use.order < write.order and not _set_before(use, inside):
            return LostWrite(name, write.node, use.node, True)
    for use in others:
        if not use.stores and use.order > write.order and _visible_scope(use, body_path, walk):
            between = [other for other in others if other.stores and write.order < other.order < use.order]
            if not any(_dominates(other, use) for other in between):
                return LostWrite(name, write.node, use.node, False)
    return None


def _within(use: _Use, loop: int) -> bool:
    return any(node == loop for node, _ in use.path)


def _depth(use: _Use, loop: int) -> int:
    return next(index for index, (node, _) in enumerate(use.path) if node == loop)


def _visible(store: _Use, path: Path, walk: _Walk) -> bool:
    """Whether a store outside the loop is what the loop's body sees: its scope encloses the loop."""
    scope = [step for step in store.path if step[0] in walk.scopes]
    return all(step in path for step in scope)


def _visible_scope(use: _Use, path: Path, walk: _Walk) -> bool:
    """Whether a read after the loop is in a scope of the loop's own surroundings, and on a way that passes the loop."""
    surrounding = {node for node, _ in path if node in walk.scopes}
    others = [node for node, _ in use.path if node in walk.scopes and node not in walk.loops]
    return all(node in surrounding for node in others) and not _exclusive(use.path, path)


def _reaches(write: _Use, read: _Use) -> bool:
    return not _exclusive(write.path, read.path)


def _exclusive(one: Path, other: Path) -> bool:
    """Whether two paths lie in different branches of one condition."""
    branches = dict(other)
    return any(branches.get(node, branch) != branch for node, branch in one)


def _set_before(read: _Use, inside: list[_Use]) -> bool:
    return any(use.stores and use.order < read.order and _dominates(use, read) for use in inside)


def _dominates(store: _Use, read: _Use) -> bool:
    """Whether every way to the read passes the store: it stands in a block that encloses the read."""
    return store.order < read.order and read.path[: len(store.path)] == store.path
