"""Accept what a message may legally hold: content that is null or absent, arguments as a JSON string or a mapping."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.patches.edits import Edit
from template_lint.patches.strategies import Candidate
from template_lint.rendering.positions import SourceMap, offset_of, walk

_JSON_FILTERS = frozenset({"tojson", "string"})


def guard_content(facts: TemplateFacts) -> Iterator[Candidate]:
    """Read ``X.content`` as an empty string where it is null or absent."""
    source = facts.template.source_map
    edits = []
    for node, parent in _reads_of(facts, "content"):
        if not isinstance(parent, nodes.Test | nodes.Or):
            start, end = _chain_range(node, source)
            guarded = f"{source.text[start:end]} or ''"
            edits.append(Edit(start, end, guarded if isinstance(parent, nodes.Assign) else f"({guarded})"))
    if edits:
        yield Candidate(tuple(edits), "content that is null or absent is read as empty", True)


def accept_both_arguments(facts: TemplateFacts) -> Iterator[Candidate]:
    """Write arguments that are a string as they are and others as JSON."""
    source = facts.template.source_map
    written = [
        (node, parent)
        for node, parent in [*_reads_of(facts, "arguments"), *_names_of_arguments(facts)]
        if isinstance(parent, nodes.Filter | nodes.Add | nodes.Concat | nodes.Output)
    ]
    edits = []
    for node, parent in written:
        start, end = _chain_range(node, source)
        read = source.text[start:end]
        if isinstance(parent, nodes.Filter):
            if parent.name not in _JSON_FILTERS:
                continue
            end = _filter_end(parent, source)
        as_json = (
            source.text[start:end]
            if isinstance(parent, nodes.Filter) and parent.name == "tojson"
            else (f"{read} | tojson")
        )
        edits.append(Edit(start, end, f"({read} if {read} is string else {as_json})"))
    if edits:
        what = "arguments may be a JSON string as well as a mapping"
        yield Candidate(tuple(sorted(set(edits))), what, True)


def _reads_of(facts: TemplateFacts, key: str) -> Iterator[tuple[nodes.Expr, nodes.Node]]:
    """Every plain ``X.key`` and ``X['key']`` with the node around it."""
    for parent in walk(facts.template.tree):
        for child in parent.iter_child_nodes():
            if isinstance(child, nodes.Getattr | nodes.Getitem) and _key(child) == key and _is_chain(child):
                yield child, parent


def _names_of_arguments(facts: TemplateFacts) -> Iterator[tuple[nodes.Expr, nodes.Node]]:
    for parent in walk(facts.template.tree):
        for child in parent.iter_child_nodes():
            if isinstance(child, nodes.Name) and child.ctx == "load" and child.name in ("arguments", "args"):
                yield child, parent


def _key(node: nodes.Getattr | nodes.Getitem) -> object:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) else None


def _is_chain(node: nodes.Expr) -> bool:
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
    return isinstance(node, nodes.Name)


def _chain_range(node: nodes.Expr, source: SourceMap) -> tuple[int, int]:
    """Range of ``name.a['b'][0]``: the name and as many steps as the node has."""
    steps = 0
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        steps += 1
        node = node.node
    index = source.token_index(offset_of(node))
    start = source.tokens[index].offset
    for _ in range(steps):
        index += 1
        if source.tokens[index].text == "[":
            depth = 1
            while depth:
                index += 1
                depth += (source.tokens[index].text == "[") - (source.tokens[index].text == "]")
        else:
            index += 1
    return start, source.tokens[index].end


def _filter_end(node: nodes.Filter, source: SourceMap) -> int:
    """Where ``| name`` or ``| name(...)`` ends; the node's own token is the name or the bar before it."""
    index = source.token_index(offset_of(node))
    while source.tokens[index].text != node.name:
        index += 1
    if source.tokens[index + 1].text != "(":
        return source.tokens[index].end
    depth = 0
    while True:
        index += 1
        depth += (source.tokens[index].text == "(") - (source.tokens[index].text == ")")
        if depth == 0:
            return source.tokens[index].end
