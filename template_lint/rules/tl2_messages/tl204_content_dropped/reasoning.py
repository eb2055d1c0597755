"""What becomes of reasoning: before a call in the live turn, and in an answer that ends a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.inline_reasoning import opens_thinking
from template_lint.facts.probes import ASK, TOOL, TOOL_RESULT
from template_lint.facts.turn import plain_turn
from template_lint.facts.variants import (
    REPLY,
    THOUGHT,
    Conversation,
    Kind,
    knows_reasoning,
    reasoned_call,
    usual_call,
    variants,
)
from template_lint.model import Place
from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.rendering.template import Outcome
from template_lint.rules.places import field_place, tag_place
from template_lint.rules.wording import setting

_STILL_GOING_ON = "Keep the reasoning of the turn that is still going on: the model continues from it."
_WHOLE_PART = re.compile(r"""["']thinking["']: *["']""")


class Group(NamedTuple):
    """Fields that vanish for one reason: what to say and what to do about it.

    ``without`` is the template kwarg that keeps them. A ``limit`` of what the template takes is an info. ``place`` is
    where the field is read, or the branch that leaves it out; None where no one line does.
    """

    fields: list[str]
    remedy: str
    without: str = ""
    limit: bool = False
    place: Place | None = None


def reasoning_of_a_call(facts: TemplateFacts) -> Group:
    """Reasoning before a call, in the turn that is still going on."""
    nothing = Group([], "")
    if facts.inline_tags is not None:
        return _inside_a_call(facts)
    if not knows_reasoning(facts):
        return nothing
    # Names that give another prompt than each other are TL206's.
    if not facts.profile.aliases_reasoning and any(v.kind is Kind.REASONING for v in variants(facts)):
        return nothing
    asked = reasoned_call(facts)
    before = "reasoning before a call in the current turn"
    found = missing(asked.render(facts), {before: THOUGHT})
    if not found:
        return nothing
    place = field_place(facts, *REASONING_FIELDS)
    for name in REASONING_FIELDS:
        if _shows_thought(reasoned_call(facts, name).render(facts)):
            remedy = f"Send it under the name {name}, which the template prints."
            return Group(["reasoning under the name reasoning_content"], remedy, place=place)
    part = {**usual_call(facts), "content": [{"type": "thinking", "thinking": THOUGHT}]}
    shown = Conversation([ASK, part, TOOL_RESULT]).render(facts)
    # A part that is printed whole, its keys included, is no part that the template knows.
    if _shows_thought(shown) and not _WHOLE_PART.search(shown.text or ""):
        remedy = "Send it as a content part of type 'thinking', which the template prints."
        return Group(["reasoning as a field of the message"], remedy, place=place)
    for kwargs in facts.switches:
        outcome = facts.render(asked.messages, tools=asked.tool_list, generation_prompt=True, kwargs=kwargs)
        if _shows_thought(outcome):
            remedy = f"Pass {setting(kwargs)} where the model is to think."
            return Group(found, remedy, without=f" without {setting(kwargs)}", limit=True, place=place)
    return Group(found, _STILL_GOING_ON, place=place)


def _inside_a_call(facts: TemplateFacts) -> Group:
    """Reasoning that stands inside the content, where the template looks for it, in the live turn.

    What is there until the result of the call follows is a prefix that does not hold (TL101).
    """
    call = usual_call(facts)
    kept = [_keeps_thought(facts, call, after, [TOOL]) for after in ([TOOL_RESULT], [])]
    found = ["reasoning inside the content of a call in the current turn"] if kept == [False, False] else []
    return Group(found, _STILL_GOING_ON, place=tag_place(facts))


def reasoning_of_an_answer(facts: TemplateFacts) -> Group:
    """The reasoning of the reply that ends a conversation, of templates that have a place for reasoning."""
    remedy = "Train on what the model wrote: a render of the finished turn is without its reasoning."
    nothing = Group([], remedy)
    turn = plain_turn(facts)
    if turn is None or turn.is_judged or not (knows_reasoning(facts) or facts.inline_tags is not None):
        return nothing
    if _keeps_thought(facts, REPLY, [], None) is not False:
        return nothing
    calls = facts.tool_rules_apply and _keeps_thought(facts, usual_call(facts), [TOOL_RESULT], [TOOL])
    if facts.inline_tags is None and not calls:
        return nothing
    return Group(["the reasoning of an answer that ends the conversation"], remedy, limit=True)


def _keeps_thought(
    facts: TemplateFacts, message: dict[str, Any], after: list[dict[str, Any]], tools: list[dict[str, Any]] | None
) -> bool | None:
    """Whether a thought before a message is in the prompt in some mode of the template; None where no mode that thinks
    renders it.
    """
    kept = None
    for kwargs in ({}, *facts.switches):
        for sent in _with_thought(facts, message, kwargs):
            text = facts.render([ASK, sent, *after], tools=tools, generation_prompt=bool(after), kwargs=kwargs).text
            if THOUGHT in (text or ""):
                return True
            kept = kept if text is None else False
    return kept


def _with_thought(facts: TemplateFacts, message: dict[str, Any], kwargs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The message after a thought, in the forms that the template may know."""
    tags = facts.inline_tags
    if tags is None:
        fields = REASONING_FIELDS[:1] if facts.profile.aliases_reasoning else REASONING_FIELDS
        yield from ({**message, field: THOUGHT} for field in fields)
        return
    opened = opens_thinking(facts, tags, kwargs)
    if opened is not None:
        yield {**message, "content": tags.join(THOUGHT, message.get("content") or "", opened=opened)}


def _shows_thought(outcome: Outcome) -> bool:
    return THOUGHT in (outcome.text or "")


def missing(outcome: Outcome, words: dict[str, str]) -> list[str]:
    """The titles whose word is not in the prompt; none where there is no prompt."""
    return [] if outcome.text is None else [title for title, word in words.items() if word not in outcome.text]
