"""Conversations that only the proof asks, beyond the catalogue: fresh prompts with every template kwarg, rich tools,
and first replies whose content is out of the ordinary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.rendering.positions import walk
from template_lint.scenarios.catalogue import catalogue_tools
from template_lint.scenarios.model import Scenario

_MOST_WORDS = 2
_ASK: dict[str, Any] = {"role": "user", "content": "When is high water in Vlissingen?"}
_OPENINGS: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("fresh", [_ASK]),
    ("fresh-system", [{"role": "system", "content": "You are the harbour assistant."}, _ASK]),
    ("fresh-empty-system", [{"role": "system", "content": ""}, _ASK]),
    ("fresh-developer", [{"role": "developer", "content": "Answer in one sentence."}, _ASK]),
    ("fresh-parts", [{"role": "user", "content": [{"type": "text", "text": "When is high water?"}]}]),
    (
        "fresh-images",
        [{"role": "user", "content": [{"type": "image"}, {"type": "video"}, {"type": "text", "text": "?"}]}],
    ),
    ("fresh-spaces", [{"role": "user", "content": "  two spaces and a newline\n"}]),
)
_RICH_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "plan_passage",
            "description": 'Plan a passage: "ebb" <first>.\nTwo lines.',
            "parameters": {
                "type": "object",
                "properties": {
                    "ports": {"type": "array", "items": {"type": "string"}, "description": "Ports in order"},
                    "hours": {"type": "array", "items": {"type": "integer"}},
                    "rig": {"type": "string", "enum": ["sloop", "ketch"], "default": "sloop"},
                    "speed": {"type": "number", "default": 5.5, "description": "In knots"},
                    "night": {"type": "boolean", "default": False},
                    "note": {"type": ["string", "null"], "description": "Île d'Oléron ☕"},
                    "depth": {"type": "integer", "nullable": True, "description": "In metres"},
                    "crew": {
                        "type": "object",
                        "properties": {"size": {"type": "integer"}, "names": {"type": "array"}},
                        "required": ["size"],
                    },
                    "goal": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                },
                "required": ["ports", "rig"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "description": "The time.", "parameters": {"type": "object"}}},
]
_ODD_TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "log_passage",
            "description": "Log a passage.",
            "parameters": {
                "type": "object",
                "properties": {
                    "speeds": {"type": "array", "items": {"type": "number"}},
                    "flags": {"type": "array", "items": {"type": "boolean"}},
                    "legs": {"type": "array", "items": {"type": "object"}},
                    "names": {"type": "array", "items": {"type": "string", "nullable": True}, "nullable": True},
                    "free": {"type": "object"},
                    "untyped": {"description": "Anything"},
                    "total": {"type": "number", "nullable": True},
                    "done": {"type": "boolean", "nullable": True},
                    "rank": {"type": "integer", "enum": [1, 2]},
                },
            },
        },
    }
]
_REPLIES: tuple[tuple[str, str], ...] = (
    ("reply-embedded-reasoning", "<think>\nThis needs no tool.\n</think>\n\nHigh water comes twice a day."),
    ("reply-spaces", "  Twice a day.\n"),
)


def fresh_scenarios(facts: TemplateFacts) -> list[Scenario]:
    """Prompts before any reply: openings x tools x settings of the template's own kwargs."""
    settings: list[Mapping[str, Any]] = [{}, *facts.static.switches(), *_other_settings(facts)]
    found = []
    for name, messages in _OPENINGS:
        for suffix, tools in (("", None), ("-tools", catalogue_tools())):
            scenario = Scenario(name + suffix, "", messages, tools, {}, [len(messages)])
            found += [scenario.with_kwargs(setting) if setting else scenario for setting in settings]
    described = (("fresh-rich-tools", _RICH_TOOLS), ("fresh-odd-tools", _ODD_TOOLS))
    return [*found, *[Scenario(name, "", [_ASK], tools, {}, [1]) for name, tools in described]]


def reply_scenarios() -> list[Scenario]:
    """A question and one reply."""
    return [
        Scenario(name, "", [_ASK, {"role": "assistant", "content": content}], None, {}, [1, 2])
        for name, content in _REPLIES
    ]


def hard_arguments() -> Scenario:
    """A call whose arguments need every escape of JSON, and its result."""
    arguments = {
        "path": 'C:\\new\\t "x"/y\t\n\r\b\f',
        "text": "Île ☕ 港 \u2028",
        "nested": {"empty": {}, "list": [[], [1, -2.5e-7, True, None, "a,b:{c}"]], "deep": {"k": "}]"}},
        "zero": 0,
        "blank": "",
    }
    call = {"id": "callHard1", "type": "function", "function": {"name": "lookup_tide", "arguments": arguments}}
    result = {"role": "tool", "tool_call_id": "callHard1", "name": "lookup_tide", "content": "none"}
    messages = [_ASK, {"role": "assistant", "content": "", "tool_calls": [call]}, result]
    return Scenario("hard-arguments", "", messages, catalogue_tools(), {}, [1, 2, 3])


def _other_settings(facts: TemplateFacts) -> list[Mapping[str, Any]]:
    """Template kwargs that are no thinking switches: a drop-in obeys them too.

    Each is set to true, to false and to what the template compares it with or looks for in it, or a word.
    """
    known = set(facts.template.environment.globals)
    known |= {name for setting in facts.static.switches() for name in setting}
    members = _members(facts.template.tree, facts.static.compared)
    settings: list[Mapping[str, Any]] = []
    for name in (name for name in facts.static.kwargs if name not in known):
        words = [value for value in facts.static.compared.get(name, []) if isinstance(value, str)]
        values: list[Any] = [True, False, *(words[:_MOST_WORDS] or ["zqvalue"])]
        if name in members:
            values.append(members[name])
        settings += [{name: value} for value in values]
    return settings


def _members(tree: nodes.Template, compared: Mapping[str, list[Any]]) -> dict[str, list[str]]:
    """Variable -> the words that the template looks for in it: by ``in``, or by comparing each of its items."""
    found: dict[str, list[str]] = {}
    for name, word in [*_memberships(tree), *_compared_items(tree, compared)]:
        if word not in found.setdefault(name, []):
            found[name].append(word)
    return {name: sorted(words) for name, words in found.items()}


def _memberships(tree: nodes.Template) -> Iterator[tuple[str, str]]:
    for node in walk(tree):
        if isinstance(node, nodes.Compare) and isinstance(node.expr, nodes.Const) and isinstance(node.expr.value, str):
            for operand in node.ops:
                if operand.op in ("in", "notin") and isinstance(operand.expr, nodes.Name):
                    yield operand.expr.name, node.expr.value


def _compared_items(tree: nodes.Template, compared: Mapping[str, list[Any]]) -> Iterator[tuple[str, str]]:
    for loop in tree.find_all(nodes.For):
        if isinstance(loop.iter, nodes.Name) and isinstance(loop.target, nodes.Name):
            for word in compared.get(loop.target.name, []):
                if isinstance(word, str):
                    yield loop.iter.name, word
