"""TL205: the template crashes on a shape that servers send."""

from __future__ import annotations

import re
from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.no_tools import empty_tools, without_tools
from template_lint.facts.probes import ASK
from template_lint.facts.schemas import failing_schemas
from template_lint.facts.static import SPECIAL_TOKEN_NAMES
from template_lint.facts.variants import (
    Conversation,
    Kind,
    Variant,
    in_parts,
    tool_conversation,
    variants,
)
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.environment import MUTATORS
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule, Skip
from template_lint.rules.crashes import crash_place
from template_lint.rules.defects import UNDEFINED, shapes, undefined_name
from template_lint.rules.places import line_place

_CONTENT = (Kind.EMPTY, Kind.PARTS)
_ONE_DEFECT = (_CONTENT, (Kind.SCHEMA,))
_REMEDIES = {
    Kind.EMPTY: "Use (message.content or ''): content that is null or absent is no string.",
    Kind.PARTS: "Join the text parts where content is not a string, or refuse them with raise_exception.",
    Kind.NO_CALLS: "Test that there are calls, not that the key is there: {% if message.tool_calls %}.",
    Kind.NO_TOOLS: "Look into tools only inside {% if tools %}: without tools= it is none.",
    Kind.SCHEMA: "Test each key of a schema before use: all but a function's name may be absent or null.",
}
_ARGUMENTS = "Print arguments as they are where they are a string, and with tojson where they are a mapping."
_SUPPLIED = "Use only what Jinja and apply_chat_template supply; test the value before use."
_LIST = "Write | list before | tojson: filters such as map and select give a generator."
_GENERATOR = "Object of type generator is not JSON serializable"
_CONCATENATED_MAPPING = 'can only concatenate str (not "dict") to str'
_REFUSED_METHOD = re.compile(r"access to attribute '(\w+)' of ")


class ValidShapeCrash(Rule):
    """The template crashes on a message shape that OpenAI-compatible servers send.

    What: the same tool conversation with content null, without a content key, with arguments as a JSON string and as a
    mapping, with arguments that are not strings, with ``tool_calls: []``, without the tool's name or with an id that no
    call has, with typed text parts, and without ``tools=`` or with an empty list; and a question with the tool's schema
    in the shapes that clients send: without a description or parameters, with null for them, without a type, with a
    list of types, nested. A crash is an exception that the template did not raise itself; its own ``raise_exception``
    is a documented limit, and no finding here: neither is a shape of a conversation that the template refuses anyway. A
    filter that does not exist is TL004's, a method that the sandbox refuses TL502's. Content that is used as text
    without a test crashes in several ways: that is one finding. A template that renders only content in typed text
    parts is a warning, as is a crash on a schema or for want of tools; the template named ``tool_use``, which
    transformers selects only where there are tools, is not asked without them. A template without tools is asked one
    thing: whether it crashes on every plain conversation.

    Why it matters: the shape that reaches the template is decided by the server and its version, not by you. The other
    rules go on with a shape that the template accepts.

    How to fix: test before use: ``is string``, ``is mapping``, ``is defined``, ``message.get('content')``.
    """

    code = "TL205"
    name = "valid-shape-crash"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try every shape; one finding per place and exception. Then the user's own conversations."""
        yield from self._own(facts)
        if facts.tool_rules_apply:
            yield from self._shapes(facts)
        elif not any(question.answered for question in facts.questions):
            yield from self._plain(facts)

    def _own(self, facts: TemplateFacts) -> Iterator[Finding]:
        for scenario in facts.conversations:
            outcome = facts.render_scenario(scenario, len(scenario.messages), False)
            if not outcome.ok:
                yield self.finding(
                    facts,
                    f"your conversation {scenario.name!r} does not render: {outcome.error}: {outcome.message[:100]}",
                    remedy="Bring it into a shape that the template accepts, or repair the template.",
                    place=line_place(facts, outcome.line),
                    scenario=scenario.name,
                    evidence={"error": outcome.error},
                )

    def _plain(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Of a template without tools, that renders no conversation at all."""
        question = Conversation([ASK], tools=False)
        outcome = question.render(facts)
        if not outcome.ok and not outcome.refused and not _said_elsewhere(outcome):
            yield self._nothing_renders(facts, "every conversation", question, outcome, [])

    def _shapes(self, facts: TemplateFacts) -> Iterator[Finding]:
        asked = variants(facts)
        conversation = tool_conversation(facts)
        usual = conversation.render(facts)
        with_tools = [variant for variant in asked if variant.conversation.tools]
        if not usual.ok and not any(variant.outcome.ok for variant in with_tools):
            if usual.refused or _said_elsewhere(usual):
                raise Skip(f"no shape of a tool conversation renders: {usual.error}: {usual.message[:120]}")
            titles = [variant.title for variant in with_tools]
            yield self._nothing_renders(facts, "every conversation with tools=", conversation, usual, titles)
            return
        crashes: dict[tuple[str | None, Place | None], list[Variant]] = {}
        for variant in [*asked, *without_tools(facts), *empty_tools(facts), *failing_schemas(facts)]:
            outcome = variant.outcome
            # What is refused in the usual shape is refused in every shape.
            refused = variant.reference is not None and variant.reference.refused
            if not outcome.ok and not outcome.refused and not refused and not _said_elsewhere(outcome):
                place = crash_place(facts, variant.conversation, outcome)
                crashes.setdefault((outcome.error, place), []).append(variant)
        calls = [variant for variant in with_tools if variant.kind is not Kind.NO_CALLS]
        no_call = None if any(variant.outcome.ok for variant in calls) else usual.error
        for place, group in _by_defect(crashes):
            serious = any(variant.serious for variant in group)
            error = group[0].outcome.error
            every = error == no_call and place == crash_place(facts, conversation, usual)
            titles = [variant.title for variant in group]
            yield self.finding(
                facts,
                f"{error} on every conversation with a tool call: {_messages(group)}" if every else _sentence(group),
                remedy=_remedy(group),
                place=place,
                severity=Severity.ERROR if serious else Severity.WARNING,
                evidence={"error": error, "shapes": titles},
                defects=shapes(titles),
            )

    def _nothing_renders(
        self, facts: TemplateFacts, where: str, conversation: Conversation, usual: Outcome, titles: list[str]
    ) -> Finding:
        """No conversation, or none with ``tools=``, renders: because content is a string, or whatever it is."""
        place = crash_place(facts, conversation, usual)
        question = Conversation([ASK])
        if any(not c.render(facts).ok and in_parts(c).render(facts).ok for c in (conversation, question)):
            return self.finding(
                facts,
                f"{usual.error} on content that is a string; as typed text parts it renders: {usual.message[:100]}",
                remedy="Print content as it is where it is a string.",
                place=place,
                severity=Severity.WARNING,
                evidence={"error": usual.error, "shapes": ["content that is a string"]},
            )
        nobody_sets = re.fullmatch(UNDEFINED, usual.message)
        return self.finding(
            facts,
            f"{usual.error} on {where}: {usual.message[:100]}",
            remedy=_LIST if _GENERATOR in usual.message else _supplied(usual.message),
            place=place,
            evidence={"error": usual.error, "shapes": titles},
            defects=undefined_name(nobody_sets[1]) if nobody_sets else shapes(titles),
            brief=f"{usual.error} on {where}" if nobody_sets else "",
        )


def _by_defect(
    crashes: dict[tuple[str | None, Place | None], list[Variant]],
) -> list[tuple[Place | None, list[Variant]]]:
    """The groups with their places. What is used without a test fails in several ways at one place: one defect."""
    groups: dict[tuple[object, Place | None], list[Variant]] = {}
    for (error, place), group in crashes.items():
        kinds = {variant.kind for variant in group}
        same = next((of for of in _ONE_DEFECT if place is not None and kinds <= set(of)), None)
        groups.setdefault((same or error, place), []).extend(group)
    return [(place, group) for (_, place), group in groups.items()]


def _sentence(group: list[Variant]) -> str:
    """Each exception with its shapes and what it says."""
    errors: dict[str | None, list[Variant]] = {}
    for variant in group:
        errors.setdefault(variant.outcome.error, []).append(variant)
    return "; ".join(
        f"{error} on {', on '.join(variant.title for variant in of)}: {_messages(of)}" for error, of in errors.items()
    )


def _messages(group: list[Variant]) -> str:
    """What the exceptions of one place say: mostly the same."""
    return "; ".join(dict.fromkeys(variant.outcome.message[:100] for variant in group))


def _said_elsewhere(outcome: Outcome) -> bool:
    """Whether TL004 names the filter or test that does not exist, TL502 the method that the sandbox refuses, or TL508
    the bound that was reached.
    """
    if outcome.error == "RenderStopped":
        return True
    if outcome.error == "TemplateRuntimeError":
        return outcome.message.startswith(("No filter named", "No test named"))
    method = _REFUSED_METHOD.match(outcome.message) if outcome.error == "SecurityError" else None
    return method is not None and method[1] in MUTATORS


def _supplied(message: str) -> str:
    """The remedy for what is undefined: a special token that the tokenizer has not, or whatever it is."""
    token = next((name for name in SPECIAL_TOKEN_NAMES if message == f"'{name}' is undefined"), None)
    return _SUPPLIED if token is None else f"{token} is there only if the tokenizer names one: use ({token} or '')."


def _remedy(group: list[Variant]) -> str:
    kinds = dict.fromkeys(variant.kind for variant in group)
    shape_of_call = kinds.keys() <= {Kind.ARGUMENTS, Kind.EMPTY}
    # Where calls are printed only beside null content, their arguments are what is concatenated, not the content.
    if shape_of_call and all(variant.outcome.message == _CONCATENATED_MAPPING for variant in group):
        return _ARGUMENTS
    if all(kind in _REMEDIES for kind in kinds):
        return " ".join(_REMEDIES[kind] for kind in kinds)
    return "Test the value before use: is string, is mapping, is defined."
