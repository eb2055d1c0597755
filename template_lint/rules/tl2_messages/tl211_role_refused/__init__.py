"""TL211: roles, orders and shapes that the template refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.parallel import parallel_outcome
from template_lint.facts.probes import ASK, SYSTEM, TOOL_RESULT
from template_lint.facts.variants import (
    BESIDE,
    REPLY,
    Conversation,
    knows_reasoning,
    reasoned_call,
    tool_conversation,
    usual_call,
    variants,
)
from template_lint.model import Finding, Severity
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule

_SHORT_ID = "call_1"


class RoleRefused(Rule):
    """The template refuses a role, an order of roles or a legal shape with ``raise_exception``.

    What: a system message, a developer message, a later system message, two user messages in a row; with tools, a tool
    result, two calls in one turn, an id that is not nine characters long, reasoning and text beside a call, and the
    shapes of TL205. A clear refusal is a documented limit of the model.

    Why it matters: an agent framework must know it before the run; here it also says which scenarios could not be
    asked.

    How to fix: nothing in the template; do not send what the model was not trained on.
    """

    code = "TL211"
    name = "role-refused"
    severity = Severity.INFO

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try each role where it usually stands, and each shape."""
        outcomes = [*_roles(facts), *(_tools(facts) if facts.tool_rules_apply else [])]
        refused = [(title, outcome.message) for title, outcome in outcomes if outcome.refused]
        if refused:
            yield self.finding(
                facts,
                f"refuses {', '.join(title for title, _ in refused)}: {refused[0][1][:100]}",
                remedy="Do not send these to the model.",
                evidence={"refused": [title for title, _ in refused], "reasons": [reason for _, reason in refused]},
            )


def _roles(facts: TemplateFacts) -> Iterator[tuple[str, Outcome]]:
    cases: list[tuple[str, list[dict[str, Any]]]] = [
        ("a system message", [SYSTEM, ASK]),
        ("a developer message", [{**SYSTEM, "role": "developer"}, ASK]),
        ("a system message after the first exchange", [ASK, REPLY, SYSTEM, ASK]),
        ("two user messages in a row", [ASK, ASK]),
    ]
    for title, messages in cases:
        yield title, Conversation(messages, tools=False).render(facts)


def _tools(facts: TemplateFacts) -> Iterator[tuple[str, Outcome]]:
    usual = tool_conversation(facts)
    plain = facts.render(usual.messages, generation_prompt=True)
    yield "a tool result", plain
    if not usual.render(facts).ok:
        return
    yield "two calls in one turn", parallel_outcome(facts)
    yield f"a call id such as {_SHORT_ID!r}", _with_id(facts, _SHORT_ID).render(facts)
    if knows_reasoning(facts):
        yield "reasoning and text beside a call", reasoned_call(facts, content=BESIDE).render(facts)
    for variant in variants(facts):
        yield variant.title, variant.outcome


def _with_id(facts: TemplateFacts, call_id: str) -> Conversation:
    usual = usual_call(facts)
    call = {**usual, "tool_calls": [{**usual["tool_calls"][0], "id": call_id}]}
    return Conversation([ASK, call, {**TOOL_RESULT, "tool_call_id": call_id}])
