"""TL204: text of the conversation that vanishes without an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ARGUMENT, ASK, RESULT, SYSTEM, TOOL_RESULT
from template_lint.facts.variants import (
    BESIDE,
    REPLY,
    Conversation,
    Kind,
    in_parts,
    tool_conversation,
    usual_call,
    variants,
)
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule
from template_lint.rules.places import printed_at
from template_lint.rules.tl2_messages.tl204_content_dropped.reasoning import (
    Group,
    missing,
    reasoning_of_a_call,
    reasoning_of_an_answer,
)
from template_lint.rules.wording import listed

DEVELOPER = "a developer message"


class ContentDropped(Rule):
    """Text in some field of a message is neither in the prompt nor refused.

    What: a word that occurs nowhere else is put into a user, system or developer message, a reply, a later system
    message, the text beside a tool call, a typed text part, a tool result that is a mapping, or the reasoning of the
    turn that is still going on. The prompt does not contain it, and the template does not raise. Reasoning is asked
    only of templates that read a reasoning field, or that read none and cut contents at a tag such as ``</think>``:
    these get it inside the content. A role is asked only where the template renders the others. Where a template takes
    content in typed parts only, it is content that is a string that is dropped. One finding lists all that vanish
    without a line that decides it, another the limits.

    Infos are the limits of a template: one that nowhere names the role ``developer`` does not know it; results are
    text to most; reasoning is dropped where thinking is off and a template kwarg turns it on, or, once an answer ends
    the conversation, with the rest of its history.

    Why it matters: the model never sees what was sent. Nothing fails; instructions, answers or evidence are just gone.

    How to fix: render the field, or refuse it with ``raise_exception``.
    """

    code = "TL204"
    name = "content-dropped"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for each field's word in the prompt; one finding for what one line decides, and for what none does."""
        groups = [_texts(facts), _roles(facts), _typed(facts)]
        live = Group([], "")
        if facts.tool_rules_apply:
            live = reasoning_of_a_call(facts)
            groups += [_beside_a_call(facts), live, _structured(facts)]
        if not live.fields:
            groups.append(reasoning_of_an_answer(facts))
        together: dict[tuple[bool, Place | None], list[Group]] = {}
        for group in groups:
            if group.fields:
                together.setdefault((group.limit, group.place), []).append(group)
        for (limit, place), found in together.items():
            yield self.finding(
                facts,
                f"{_gone(found)}, and no error is raised",
                remedy=" ".join(group.remedy for group in found),
                place=place,
                severity=Severity.INFO if limit else None,
                evidence={"dropped": [field for group in found for field in group.fields]},
            )


def _gone(groups: list[Group]) -> str:
    """That these are not in the prompt; what keeps some of them is said last, or beside each."""
    fields, without = groups[0].fields, groups[0].without
    if len(groups) > 1:
        fields, without = [field + group.without for group in groups for field in group.fields], ""
    return f"{listed(fields, len(fields))} {'is' if len(fields) == 1 else 'are'} not in the prompt{without}"


def _texts(facts: TemplateFacts) -> Group:
    """Plain text of a user and of a reply: what every chat template is for."""
    conversation = Conversation([ASK, REPLY, ASK], tools=False)
    words = {"a user message": ASK["content"], "a reply in history": REPLY["content"]}
    found = missing(conversation.render(facts), words)
    if found:
        parts = in_parts(conversation).render(facts).text
        if parts is not None and all(words[title] in parts for title in found):
            remedy = "Print content as it is where it is a string, or refuse it with raise_exception."
            return Group(["content that is a string"], remedy)
        return Group(found, "Render the content of every message, or refuse with raise_exception what has no place.")
    for scenario in facts.scenarios:
        if scenario.name == "chat-reasoning":
            history = facts.render_scenario(scenario, 3, True)
            found += missing(history, {"a reply that has reasoning": scenario.messages[1]["content"]})
    return Group(found, "Render content also beside reasoning.")


def _roles(facts: TemplateFacts) -> Group:
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
            found += missing(Conversation(messages, tools=False).render(facts), {title: word})
            if found and title == "a system message":
                break
    unknown = found == [DEVELOPER] and "developer" not in facts.static.strings
    as_system = ", developer for example as system;" if DEVELOPER in found else ","
    return Group(found, f"Render the role{as_system} or refuse it with raise_exception.", limit=unknown)


def _typed(facts: TemplateFacts) -> Group:
    found = []
    for variant in variants(facts):
        if variant.kind is Kind.PARTS and variant.comparable and variant.reference is not None:
            gone = missing(variant.outcome, {variant.title: variant.words[0]})
            found += gone if variant.words[0] in (variant.reference.text or "") else []
    return Group(found, "Join the text parts where content is not a string, or refuse them with raise_exception.")


def _beside_a_call(facts: TemplateFacts) -> Group:
    conversation = tool_conversation(facts)
    usual = conversation.render(facts).text
    beside = Conversation([ASK, {**usual_call(facts), "content": BESIDE}, TOOL_RESULT]).render(facts)
    found = missing(beside, {"text beside a tool call": BESIDE}) if usual and RESULT in usual else []
    remedy = "Render message.content in the assistant's turn, also where there are calls."
    place = printed_at(facts, conversation, usual.index(ARGUMENT)) if found and usual and ARGUMENT in usual else None
    return Group(found, remedy, place=place)


def _structured(facts: TemplateFacts) -> Group:
    usual = tool_conversation(facts)
    found = []
    if RESULT in (usual.render(facts).text or ""):
        structured = Conversation([*usual.messages[:2], {**TOOL_RESULT, "content": {"zqsky": RESULT}}])
        found = missing(structured.render(facts), {"a tool result that is a mapping": RESULT})
    return Group(found, "Send results as text, for example with json.dumps.", limit=True)
