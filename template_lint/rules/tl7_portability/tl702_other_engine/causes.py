"""What other engines do otherwise, as far as the source shows it. No second engine is needed.

Measured with minijinja 3.1 and @huggingface/jinja 0.5; see the page of the rule for what each cause means.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jinja2 import nodes
from markupsafe import Markup

from template_lint.facts import TemplateFacts
from template_lint.model import Place
from template_lint.rendering.positions import offset_of, walk

_PASSED_AS_NONE = frozenset({"tools", "documents"})
"""Variables that apply_chat_template passes as None where there are none."""

_PLAIN_KWARGS = frozenset({"indent"})
_SERVER = "Make sure that your server's engine has these."


class Cause(NamedTuple):
    """``text`` completes the sentence "the template ..."; ``remedy`` is what all engines agree on instead; ``partial``
    where only engines without an optional part are concerned.
    """

    text: str
    place: Place
    remedy: str
    partial: bool = False


_nowhere = Place(0, 0, 0, 0, 0, 0)
_GENERATION = Cause(
    "has {% generation %}, a tag that minijinja does not know", _nowhere, "Serve a copy without {% generation %}."
)


def causes(facts: TemplateFacts) -> list[Cause]:
    """All of them, the first of each kind, in source order."""
    found: dict[str, Cause] = {}
    for kind, cause in _all(facts):
        known = found.get(kind)
        if known is None or cause.place.offset < known.place.offset:
            found[kind] = cause
    return sorted(found.values(), key=lambda cause: cause.place.offset)


def _all(facts: TemplateFacts) -> Iterator[tuple[str, Cause]]:
    yield from _tags(facts)
    yield from _none_as_iterable(facts)
    yield from _filters(facts)
    yield from _methods(facts)


def _tags(facts: TemplateFacts) -> Iterator[tuple[str, Cause]]:
    source = facts.template.source_map
    words = {"generation": _GENERATION}
    for word in ("break", "continue"):
        option = f"has {{% {word} %}}, which minijinja knows only where it was built with loop_controls"
        words[word] = Cause(option, _nowhere, _SERVER, partial=True)
    for before, token in zip(source.tokens, source.tokens[1:], strict=False):
        if before.kind == "raw_begin":
            raw = "has {% raw %}, around which engines strip white space differently"
            yield "raw", Cause(raw, source.place(before.offset, before.end), "Print the text as a string: {{ '...' }}.")
        elif before.kind == "block_begin" and token.text in words:
            cause = words.pop(token.text)
            yield token.text, cause._replace(place=source.place(token.offset, token.end))


def _none_as_iterable(facts: TemplateFacts) -> Iterator[tuple[str, Cause]]:
    """``tools is iterable and tools | length``: None is iterable in minijinja, and then has no length."""
    for node in facts.static.kinds.get(nodes.And, ()):
        for name in sorted(_measured(node.right) & _PASSED_AS_NONE):
            for test in walk(node.left):
                if not isinstance(test, nodes.Test) or test.name != "iterable" or test.node != nodes.Name(name, "load"):
                    continue
                if not _tested_for_none(node.left, name):
                    text = f"tests `{name} is iterable`, which is true for none in minijinja"
                    yield "iterable", Cause(text, _place(facts, test), f"Ask for {{% if {name} %}} instead.")
                    break


def _tested_for_none(node: nodes.Node, name: str) -> bool:
    """Whether a condition also asks for the truth of a name, or for none."""
    parts = [node.left, node.right] if isinstance(node, nodes.And) else [node]
    for part in parts:
        if isinstance(part, nodes.And) and _tested_for_none(part, name):
            return True
        if isinstance(part, nodes.Name) and part.name == name:
            return True
        inner = part.node if isinstance(part, nodes.Not) else part
        if isinstance(inner, nodes.Test) and inner.name == "none" and inner.node == nodes.Name(name, "load"):
            return True
    return False


def _measured(node: nodes.Node) -> set[str]:
    """The names whose length a condition asks for."""
    return {
        part.node.name
        for part in walk(node)
        if isinstance(part, nodes.Filter) and part.name in ("length", "count") and isinstance(part.node, nodes.Name)
    }


def _filters(facts: TemplateFacts) -> Iterator[tuple[str, Cause]]:
    for node in facts.static.kinds.get(nodes.Filter, ()):
        if node.name == "tojson":
            kwargs = sorted({keyword.key for keyword in node.kwargs} - _PLAIN_KWARGS)
            if kwargs:
                text = f"gives tojson {' and '.join(kwargs)}, which minijinja's own tojson does not know"
                yield "tojson-kwargs", Cause(text, _place(facts, node), _SERVER, partial=True)
            if isinstance(node.node, nodes.Filter) and node.node.name in ("map", "select", "reject", "selectattr"):
                text = f"pipes {node.node.name}() into tojson: Jinja2 raises, as that is no list there"
                yield "generator", Cause(text, _place(facts, node), "Write | list before | tojson.")
        elif node.name in ("e", "escape", "forceescape"):
            text = f"uses the filter {node.name}, which escapes differently"
            yield "escape", Cause(text, _place(facts, node), "Leave the filter out: a prompt is no HTML.")
    for addition in facts.static.kinds.get(nodes.Add, ()):  # `~` joins plain texts
        for side in (addition.left, addition.right):
            if _is_safe(side):
                text = "adds to a text marked safe: Jinja2 escapes what is added, other engines do not"
                yield "safe", Cause(text, _place(facts, side), "Leave | safe out, or join with ~.")


def _is_safe(node: nodes.Node) -> bool:
    """Whether the value may be marked safe: the compiler has folded ``'text' | safe`` to such a constant."""
    if isinstance(node, nodes.CondExpr):
        return any(side is not None and _is_safe(side) for side in (node.expr1, node.expr2))
    if isinstance(node, nodes.Filter):
        return node.name == "safe"
    return isinstance(node, nodes.Const) and isinstance(node.value, Markup)


def _methods(facts: TemplateFacts) -> Iterator[tuple[str, Cause]]:
    for node in facts.static.kinds.get(nodes.Getattr, ()):
        if isinstance(node.node, nodes.Name) and node.node.name == "dict":
            text = f"uses dict.{node.attr}, which minijinja has not"
            yield "dict", Cause(text, _place(facts, node), "Build the mapping with dict(other, key=value).")
    for item in facts.static.kinds.get(nodes.Getitem, ()):
        call = item.node
        if (
            isinstance(call, nodes.Call)
            and isinstance(call.node, nodes.Getattr)
            and isinstance(item.arg, nodes.Const | nodes.Neg)
            and (isinstance(item.arg, nodes.Neg) or (isinstance(item.arg.value, int) and item.arg.value < 0))
        ):
            text = f"takes the last of .{call.node.attr}(...): not every engine has Python's methods and indices"
            yield "method", Cause(text, _place(facts, item), _SERVER, partial=True)


def _place(facts: TemplateFacts, node: nodes.Node) -> Place:
    source = facts.template.source_map
    if isinstance(node, nodes.Getitem | nodes.Getattr | nodes.Test | nodes.CondExpr):
        return source.place(*source.expression_range(node))
    token = source.tokens[source.token_index(max(offset_of(node), 0))]
    return source.place(token.offset, token.end)
