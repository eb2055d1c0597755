"""The marks that a template writes itself: in its text or in its strings, but not those it only looks for."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jinja2 import nodes

from template_lint.facts.marks import first_place, marks_of
from template_lint.model import Place
from template_lint.rendering.positions import offset_of, walk

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_LOOKING = frozenset(
    {"split", "rsplit", "partition", "rpartition", "startswith", "endswith", "strip", "lstrip", "rstrip"}
    | {"find", "rfind", "index", "count", "replace", "removeprefix", "removesuffix"}
)
_written: weakref.WeakKeyDictionary[TemplateFacts, list[str]] = weakref.WeakKeyDictionary()
_in_turns: weakref.WeakKeyDictionary[TemplateFacts, list[str]] = weakref.WeakKeyDictionary()


def written_marks(facts: TemplateFacts) -> list[str]:
    """Every mark that the template may print, in the order of the source.

    A mark that is only compared with, handed to ``split`` and the like, or named in a refusal is not written.
    """
    if facts not in _written:
        tree = facts.template.tree
        unwritten = {id(node) for node in _unwritten(tree)}
        found: list[tuple[int, str]] = []
        for node in walk(tree):
            if isinstance(node, nodes.TemplateData):
                found.append((offset_of(node), node.data))
            elif isinstance(node, nodes.Const) and isinstance(node.value, str) and id(node) not in unwritten:
                found.append((offset_of(node), node.value))
        found.sort(key=lambda entry: entry[0])
        _written[facts] = list(dict.fromkeys(mark for _, text in found for mark in marks_of(text)))
    return _written[facts]


def written_place(facts: TemplateFacts, mark: str) -> Place | None:
    """Where the template first writes a mark, in the sense of written_marks(); None where it is put together."""
    unwritten = {offset_of(node) for node in _unwritten(facts.template.tree) if isinstance(node, nodes.Const)}
    return first_place(facts, mark, unwritten)


def _unwritten(tree: nodes.Node) -> Iterator[nodes.Node]:
    """What stands in comparisons and in arguments that are looked for or raised, not printed."""
    for node in walk(tree):
        if isinstance(node, nodes.Compare):
            yield from walk(node)
        elif isinstance(node, nodes.Call) and _prints_no_argument(node.node):
            yield from (child for argument in node.args for child in walk(argument))


def _prints_no_argument(target: nodes.Node) -> bool:
    if isinstance(target, nodes.Name):
        return target.name == "raise_exception"
    return isinstance(target, nodes.Getattr) and target.attr in _LOOKING


def marks_in_turns(facts: TemplateFacts) -> list[str]:
    """Those of written_marks() that are printed after the first user's words, in any conversation of the catalogue."""
    if facts not in _in_turns:
        seen: set[str] = set()
        for scenario in facts.scenarios:
            if scenario.own:
                continue
            words = next(message["content"] for message in scenario.messages if message["role"] == "user")
            for count in (scenario.cuts[0], len(scenario.messages)):
                prompt = scenario.messages[count - 1]["role"] != "assistant"
                text = facts.render_scenario(scenario, count, prompt).text or ""
                seen.update(marks_of(text.partition(words)[2]))
        _in_turns[facts] = [mark for mark in written_marks(facts) if mark in seen]
    return _in_turns[facts]
