"""Conversations that are given no tools, in the ways in which clients do so: no ``tools=``, or an empty list."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from template_lint.facts.probes import ASK, TOOL_RESULT
from template_lint.facts.variants import Conversation, Kind, Variant, compared, tool_conversation, usual_call
from template_lint.scenarios.model import in_text_part

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

TOOL_USE = "tool_use"
"""The name of the template that transformers selects where there is ``tools=``, and only there."""


@lru_cache(maxsize=1)
def without_tools(facts: TemplateFacts) -> list[Variant]:
    """Conversations that render with ``tools=``, without it: the question alone where already that fails.

    None for the template that is chosen by ``tools=``.
    """
    found: list[Variant] = []
    if not facts.tool_rules_apply or facts.name == TOOL_USE:
        return found
    cases = {"a conversation": [ASK], "a tool conversation": tool_conversation(facts).messages}
    if Conversation([in_text_part(ASK)], tools=False).render(facts).ok:
        result = in_text_part(TOOL_RESULT)
        cases["a tool result as typed text parts"] = [ASK, usual_call(facts), result]
    for title, messages in cases.items():
        usual = Conversation(messages)
        if usual.render(facts).ok:
            bare = usual._replace(tools=False)
            found.append(compared(facts, Kind.NO_TOOLS, f"{title} without tools=", bare, usual))
            if not found[0].outcome.ok:
                break
    return found


@lru_cache(maxsize=1)
def empty_tools(facts: TemplateFacts) -> list[Variant]:
    """A question with ``tools=[]``, which means what no ``tools=`` means; nothing where the rules on tools are none."""
    if not facts.tool_rules_apply:
        return []
    usual = Conversation([ASK], tools=False)
    return [compared(facts, Kind.NO_TOOLS, "tools=[]", Conversation([ASK], tool=None), usual)]
