"""What the syntax tree says without rendering: names, attributes, thinking switches. One pass over the tree."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeVar

from jinja2 import nodes

from template_lint.facts.defaults import asks_caller, defaults_of
from template_lint.rendering.positions import offset_of, walk

SUPPLIED = frozenset({"messages", "tools", "documents", "add_generation_prompt"})
"""Variables that apply_chat_template always defines."""

SPECIAL_TOKEN_NAMES = frozenset(
    {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}
    | {"additional_special_tokens", "image_token", "video_token", "audio_token", "boi_token", "eoi_token"}
)
"""Variables that come from the tokenizer's special tokens where it has them."""

_THINKING = r"think|reason|thought|truncate_history|effort"
_MAX_VALUES = 3

NodeT = TypeVar("NodeT", bound=nodes.Node)


class StaticFacts(NamedTuple):
    """The result of the pass.

    ``free`` maps each name that the template reads but never sets to the nodes that read it. ``defaults`` are the names
    that it sets where the caller did not, with the constants it gives them. ``attributes`` are the names read by ``.x``
    or ``['x']``. ``strings`` are all string constants. ``compared`` maps a name to the constants
    it is compared with. ``reads_tools`` says whether the template knows tools at all: it reads ``tools`` or a message's
    ``tool_calls``. ``kinds`` are all nodes by their class, in no particular order; ``of`` gives them as written.
    """

    free: dict[str, list[nodes.Name]]
    defaults: dict[str, list[Any]]
    assigned: set[str]
    attributes: set[str]
    strings: set[str]
    compared: dict[str, list[Any]]
    has_generation_tag: bool
    reads_tools: bool
    kinds: dict[type[nodes.Node], list[Any]]

    def of(self, kind: type[NodeT]) -> list[NodeT]:
        """All nodes of one class in source order."""
        return sorted(self.kinds.get(kind, ()), key=offset_of)

    @property
    def kwargs(self) -> list[str]:
        """The names that a caller can give the template beyond what apply_chat_template supplies, in order."""
        return sorted({*self.free, *self.defaults} - SUPPLIED - SPECIAL_TOKEN_NAMES)

    def switches(self) -> list[dict[str, Any]]:
        """Template kwargs that look like thinking switches, one setting each, in a fixed order."""
        settings: list[dict[str, Any]] = []
        for name in [name for name in self.kwargs if re.search(_THINKING, name, re.IGNORECASE)]:
            words = [value for value in self.compared.get(name, []) if isinstance(value, str)]
            choices: list[Any] = list(dict.fromkeys(words))[:_MAX_VALUES]
            given = self.defaults.get(name)
            # A default of another kind, a budget or a text, is no switch to turn on and off.
            if not choices and (not given or any(isinstance(value, bool) for value in given)):
                choices = [True, False]
            settings += [{name: value} for value in choices]
        return settings


def analyse(tree: nodes.Template) -> StaticFacts:
    """Walk the tree once."""
    assigned = _assigned_names(tree)
    free: dict[str, list[nodes.Name]] = {}
    attributes: set[str] = set()
    strings: set[str] = set()
    compared: dict[str, list[Any]] = {}
    comparisons: list[nodes.Compare] = []
    has_generation = False
    kinds: dict[type[nodes.Node], list[Any]] = {}
    for node in walk(tree):
        kinds.setdefault(type(node), []).append(node)
        if isinstance(node, nodes.Name):
            if node.ctx == "load" and node.name not in assigned:
                free.setdefault(node.name, []).append(node)
        elif isinstance(node, nodes.Getattr):
            attributes.add(node.attr)
        elif isinstance(node, nodes.Getitem):
            if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
                attributes.add(node.arg.value)
        elif isinstance(node, nodes.Const):
            if isinstance(node.value, str):
                strings.add(node.value)
        elif isinstance(node, nodes.Compare):
            comparisons.append(node)
        elif isinstance(node, nodes.CallBlock):
            target = node.call.node
            if isinstance(target, nodes.ExtensionAttribute) and target.name == "_generation_support":
                has_generation = True
    for comparison in sorted(comparisons, key=lambda node: offset_of(node.expr)):
        _note_comparison(comparison, compared)
    tools = (
        "tools" in free or "tool_calls" in attributes | strings or ("tools" in assigned and asks_caller(tree, "tools"))
    )
    return StaticFacts(free, defaults_of(tree), assigned, attributes, strings, compared, has_generation, tools, kinds)


def _assigned_names(tree: nodes.Template) -> set[str]:
    names = {"loop", "caller", "varargs", "kwargs", "self"}
    for node in walk(tree):
        if (isinstance(node, nodes.Name) and node.ctx in ("store", "param")) or isinstance(node, nodes.Macro):
            names.add(node.name)
    return names


def _note_comparison(node: nodes.Compare, compared: dict[str, list[Any]]) -> None:
    if not isinstance(node.expr, nodes.Name):
        return
    for operand in node.ops:
        if isinstance(operand.expr, nodes.Const):
            compared.setdefault(node.expr.name, []).append(operand.expr.value)
        elif isinstance(operand.expr, nodes.List | nodes.Tuple):
            values = [item.value for item in operand.expr.items if isinstance(item, nodes.Const)]
            compared.setdefault(node.expr.name, []).extend(values)
