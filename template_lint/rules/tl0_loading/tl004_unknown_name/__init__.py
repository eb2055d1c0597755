"""TL004: a filter, test, function or variable that apply_chat_template does not supply."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, SYSTEM
from template_lint.facts.static import SPECIAL_TOKEN_NAMES, SUPPLIED
from template_lint.facts.variants import REPLY, Conversation
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.positions import offset_of, walk
from template_lint.rules.base import Rule
from template_lint.rules.defects import UNDEFINED, undefined_name
from template_lint.rules.places import line_place
from template_lint.rules.wording import shorten

# Methods and attributes of everything a template can hold: JSON data, loop, namespace, cycler, joiner.
_PLAIN_TYPES = (str, list, tuple, dict, int, float, bool)
_JINJA_METHODS = frozenset({"cycle", "changed", "next", "reset", "current", "fromkeys"})
_METHODS = frozenset(name for kind in _PLAIN_TYPES for name in dir(kind)) | _JINJA_METHODS

_FILTERS = {"str": "string", "len": "length", "int": "int", "float": "float", "list": "list"}
"""Functions of Python and the filters that do the same."""
_NOTHING = ("null", "nil", "undefined")

Kinds = dict[type[nodes.Node], list[Any]]


class UnknownName(Rule):
    """The template uses a name that ``apply_chat_template`` does not supply.

    What: a filter, a test, a function or a method that is not there (``fromjson``, ``dict.from_keys``), often on a
    branch that is rarely taken; or a variable that nobody supplies, read without ``is defined``, ``default`` or a
    condition; or one that the template sets on some ways only, where a plain conversation takes another. A name that
    only the words of a refusal need is a warning: the line raises anyway, with another reason.

    Why it matters: the rare branch raises in the middle of a run; an undefined variable prints nothing, or raises as
    soon as something is done with it.

    How to fix: use what is there (``tojson``, ``is mapping``, ``.items()``), and guard every extra variable.
    """

    code = "TL004"
    name = "unknown-name"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Walk the tree."""
        known = facts.template.environment
        kinds = facts.static.kinds
        macros = {node.name for node in kinds.get(nodes.Macro, [])}
        registries: dict[str, Container[str]] = {
            "filter": known.filters,
            "test": known.tests,
            "function": {*known.globals, *facts.static.assigned},
            "method": _METHODS,
        }
        unknown = [use for use in _uses(kinds, macros, _modules(facts)) if use[2] not in registries[use[0]]]
        # Used there only, it spoils the reason of a refusal: the line raises either way.
        spoiled = _within_refusals(kinds) if unknown else set()
        reported: set[tuple[str, str]] = set()
        for kind, node, name in sorted(unknown, key=lambda use: offset_of(use[1])):
            if (kind, name) in reported:
                continue
            reported.add((kind, name))
            refusal = all(id(use[1]) in spoiled for use in unknown if (use[0], use[2]) == (kind, name))
            then = "this line raises that instead of its own reason" if refusal else "using it raises"
            yield self.finding(
                facts,
                f"apply_chat_template has no {kind} {shorten(name)}: {then}",
                remedy=_remedy(kind, name, known.filters),
                place=_name_place(facts, node, name),
                severity=Severity.WARNING if refusal else None,
                evidence={"kind": kind, "name": name},
                defects=undefined_name(name) if kind == "function" else (),
            )
        yield from self._variables(facts, {str(name) for name in known.globals})
        yield from self._undefined(facts)

    def _variables(self, facts: TemplateFacts, functions: set[str]) -> Iterator[Finding]:
        supplied = SUPPLIED | SPECIAL_TOKEN_NAMES | functions | set(facts.variables)
        doubtful = sorted(set(facts.static.free) - supplied)
        if not doubtful:
            return
        guarded = _guarded_names(facts.static.kinds)
        risky = _risky_uses(facts.static.kinds)
        for name in doubtful:
            if name in guarded:
                continue
            uses = sorted((node for node in facts.static.free[name] if id(node) in risky), key=offset_of)
            if uses:
                yield self.finding(
                    facts,
                    f"the variable {shorten(name)} is supplied by nobody and used without a guard",
                    remedy=_guard(shorten(name)[1:-1]),
                    place=_name_place(facts, uses[0], name),
                    evidence={"kind": "variable", "name": name},
                    defects=undefined_name(name),
                )

    def _undefined(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Names that are set on some ways only: a plain conversation takes another and raises."""
        for messages in ([ASK], [SYSTEM, ASK], [ASK, REPLY, ASK]):
            outcome = Conversation(messages, tools=False).render(facts)
            match = re.fullmatch(UNDEFINED, outcome.message) if outcome.error == "UndefinedError" else None
            if match is not None and match[1] in facts.static.assigned:
                yield self.finding(
                    facts,
                    f"the variable {shorten(match[1])} is set on some ways only: a conversation of"
                    f" {', '.join(message['role'] for message in messages)} reaches this line without it",
                    remedy=f"Set it before the condition, or use {shorten(match[1])[1:-1]} | default('').",
                    place=_place_on_line(facts, match[1], outcome.line),
                    evidence={"kind": "variable", "name": match[1], "roles": [m["role"] for m in messages]},
                    defects=undefined_name(match[1]),
                )
                return


def _place_on_line(facts: TemplateFacts, name: str, line: int | None) -> Place | None:
    """The last use of a name on a line: what comes first may be where it is set."""
    reads = [node for node in facts.static.of(nodes.Name) if node.name == name and node.ctx == "load"]
    on_line = [node for node in reads if node.lineno == line]
    return _name_place(facts, on_line[-1], name) if on_line else line_place(facts, line)


def _modules(facts: TemplateFacts) -> set[str]:
    """Names with members of their own. Before 5.23 ``dict.x`` is a type with parameters: calling it makes a mapping."""
    plain_dict = not facts.profile.plain_data and "dict" not in facts.static.assigned
    return {"loop", "self", *(["dict"] if plain_dict else [])}


def _uses(kinds: Kinds, macros: set[str], modules: set[str]) -> Iterator[tuple[str, nodes.Node, str]]:
    for node in kinds.get(nodes.Filter, []):
        yield "filter", node, node.name
    for node in kinds.get(nodes.Test, []):
        yield "test", node, node.name
    for node in kinds.get(nodes.Call, []):
        target = node.node
        if isinstance(target, nodes.Name) and target.name not in macros | {"caller", "loop"}:
            yield "function", target, target.name
        elif isinstance(target, nodes.Getattr):
            owner = target.node
            if not (isinstance(owner, nodes.Name) and owner.name in modules):
                yield "method", target, target.attr


def _guarded_names(kinds: Kinds) -> set[str]:
    """Names that the template tests anywhere: ``is defined``, ``default``, or as (part of) a condition."""
    guarded: set[str] = set()
    for node in kinds.get(nodes.Test, []):
        guarded |= _names(node.node)
    for node in kinds.get(nodes.Filter, []):
        if node.name in ("default", "d"):
            guarded |= _names(node.node)
    for node in [*kinds.get(nodes.If, []), *kinds.get(nodes.CondExpr, [])]:
        guarded |= _names(node.test)
    for node in [*kinds.get(nodes.And, []), *kinds.get(nodes.Or, []), *kinds.get(nodes.Not, [])]:
        guarded |= _names(node)
    return guarded


def _names(node: nodes.Node | None) -> set[str]:
    if node is None:
        return set()
    return {child.name for child in walk(node) if isinstance(child, nodes.Name)}


def _risky_uses(kinds: Kinds) -> set[int]:
    """Uses of a name that print it, loop over it, or reach into it."""
    risky = {id(node.iter) for node in kinds.get(nodes.For, [])}
    for node in [*kinds.get(nodes.Getattr, []), *kinds.get(nodes.Getitem, []), *kinds.get(nodes.Filter, [])]:
        risky.add(id(node.node))
    for node in [*kinds.get(nodes.Output, []), *kinds.get(nodes.Add, []), *kinds.get(nodes.Concat, [])]:
        risky |= {id(child) for child in node.iter_child_nodes()}
    return risky


def _name_place(facts: TemplateFacts, node: nodes.Node, name: str) -> Place | None:
    source_map = facts.template.source_map
    start, _ = source_map.expression_range(node)
    at = source_map.text.find(name, start)
    return source_map.place(at, at + len(name)) if at >= 0 else None


def _within_refusals(kinds: Kinds) -> set[int]:
    """Everything inside the arguments of ``raise_exception``."""
    calls = [node for node in kinds.get(nodes.Call, []) if _calls(node, "raise_exception")]
    return {id(child) for call in calls for argument in call.args for child in walk(argument)}


def _calls(node: nodes.Call, name: str) -> bool:
    return isinstance(node.node, nodes.Name) and node.node.name == name


def _guard(name: str) -> str:
    if name.lower() in _NOTHING:
        return "Jinja's word for it is none; where it is to be printed, put it in quotes: 'null'."
    return f"Guard it: {{% if {name} is defined %}}, or {name} | default(...)."


def _remedy(kind: str, name: str, filters: Container[str]) -> str:
    if kind == "filter" and name in ("fromjson", "from_json"):
        return (
            "There is no JSON parser in chat templates: require arguments as a mapping, or print the string as it is."
        )
    if kind == "function" and name in _FILTERS:
        return f"Use the filter: x | {_FILTERS[name]}."
    if kind == "method":
        if name in filters:
            return f"Use the filter: x | {name}."
        if name == "from_keys":
            return "Call dict(pairs) where pairs become a mapping; the method fromkeys takes keys alone."
        close = [method for method in sorted(_METHODS) if method == name.replace("_", "").lower()]
        if close:
            return f"The method is called {close[0]}."
        return "Only the methods of strings, lists, mappings and numbers exist here."
    return f"Remove it; apply_chat_template cannot be given a {kind} of your own."
