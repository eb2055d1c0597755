"""TL204: text of the conversation that vanishes without an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, RESULT, SYSTEM, TOOL_RESULT
from template_lint.facts.variants import (
    BESIDE,
    REPLY,
    THOUGHT,
    Conversation,
    Kind,
    knows_reasoning,
    reasoned_call,
    tool_conversation,
    usual_call,
    variants,
)
from template_lint.model import Finding, Severity
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule
from template_lint.rules.wording import listed

DEVELOPER = "a developer message"


class _Group(NamedTuple):
    """Fields that vanish for one reason: what to say and what to do about it."""

    fields: list[str]
    remedy: str


class ContentDropped(Rule):
    """Text in some field of a message is neither in the prompt nor refused.

    What: a word that occurs nowhere else is put into a user, system or developer message, a reply, a later system
    message, the text beside a tool call, a typed text part, a tool result that is a mapping, or the reasoning of the
    turn that is still going on. The prompt does not contain it, and the template does not raise. Reasoning is asked
    only of templates that read a reasoning field; a role is asked only where the template renders the others. A
    template that nowhere names the role ``developer`` does not know it, and dropping it is an info.

    Why it matters: the model never sees what was sent. Nothing fails; instructions, answers or evidence are just gone.

    How to fix: render the field, or refuse it with ``raise_exception``.
    """

    code = "TL204"
    name = "content-dropped"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for each field's word in the prompt; fields that vanish for one reason are one finding."""
        groups = [_texts(facts), _roles(facts), _typed(facts)]
        if facts.tool_rules_apply:
            groups += [_beside_a_call(facts), _reasoning(facts), _structured(facts)]
        for group in groups:
            if group.fields:
                yield self.finding(
                    facts,
                    f"{listed(group.fields, 4)} {'is' if len(group.fields) == 1 else 'are'} not in the prompt, and no"
                    " error is raised",
                    remedy=group.remedy,
                    severity=Severity.INFO if group.fields == [DEVELOPER] and not _names_developer(facts) else None,
                    evidence={"dropped": group.fields},
                )


def _texts(facts: TemplateFacts) -> _Group:
    """Plain text of a user and of a reply: what every chat template is for."""
    outcome = Conversation([ASK, REPLY, ASK], tools=False).render(facts)
    words = {"a user message": ASK["content"], "a reply in history": REPLY["content"]}
    found = _missing(outcome, words)
    if not found:
        for scenario in facts.scenarios:
            if scenario.name == "chat-reasoning":
                history = facts.render_scenario(scenario, 3, True)
                found += _missing(history, {"a reply that has reasoning": scenario.messages[1]["content"]})
    return _Group(found, "Render content where it is a string, also beside reasoning.")


def _roles(facts: TemplateFacts) -> _Group:
    word: str = SYSTEM["content"]
    plain = Conversation([ASK, REPLY, ASK], tools=False).render(facts)
    found: list[str] = []
    if plain.text is not None and ASK["content"] in plain.text:
        cases: list[tuple[str, list[dict[str, Any]]]] = [
            ("a system message", [SYSTEM, ASK]),
            (DEVELOPER, [{**SYSTEM, "role": "developer"}, ASK]),
            ("a system message after the first exchange", [ASK, REPLY, SYSTEM, ASK]),
        ]
        for title, messages in cases:
            found += _missing(Conversation(messages, tools=False).render(facts), {title: word})
            if found and title == "a system message":
                break
    return _Group(found, "Render the role, developer for example as system; or refuse it with raise_exception.")


def _names_developer(facts: TemplateFacts) -> bool:
    return "developer" in facts.static.strings


def _typed(facts: TemplateFacts) -> _Group:
    found = []
    for variant in variants(facts):
        if variant.kind is Kind.PARTS and variant.comparable and variant.reference is not None:
            gone = _missing(variant.outcome, {variant.title: variant.words[0]})
            found += gone if variant.words[0] in (variant.reference.text or "") else []
    return _Group(found, "Join the text parts where content is not a string, or refuse them with raise_exception.")


def _beside_a_call(facts: TemplateFacts) -> _Group:
    usual = tool_conversation(facts).render(facts).text
    beside = Conversation([ASK, {**usual_call(facts), "content": BESIDE}, TOOL_RESULT]).render(facts)
    found = _missing(beside, {"text beside a tool call": BESIDE}) if usual and RESULT in usual else []
    return _Group(found, "Render message.content in the assistant's turn, also where there are calls.")


def _reasoning(facts: TemplateFacts) -> _Group:
    found = []
    if knows_reasoning(facts):
        # Names that give another prompt than each other are TL206's.
        outcome = reasoned_call(facts).render(facts)
        if facts.profile.aliases_reasoning or not any(v.kind is Kind.REASONING for v in variants(facts)):
            found = _missing(outcome, {"reasoning before a call in the current turn": THOUGHT})
    return _Group(found, "Keep the reasoning of the turn that is still going on: the model continues from it.")


def _structured(facts: TemplateFacts) -> _Group:
    usual = tool_conversation(facts)
    found = []
    if RESULT in (usual.render(facts).text or ""):
        structured = Conversation([*usual.messages[:2], {**TOOL_RESULT, "content": {"zqsky": RESULT}}])
        found = _missing(structured.render(facts), {"a tool result that is a mapping": RESULT})
    return _Group(found, "Print content that is no string with tojson, or refuse it with raise_exception.")


def _missing(outcome: Outcome, words: dict[str, str]) -> list[str]:
    """The titles whose word is not in the prompt; none where there is no prompt."""
    return [] if outcome.text is None else [title for title, word in words.items() if word not in outcome.text]
