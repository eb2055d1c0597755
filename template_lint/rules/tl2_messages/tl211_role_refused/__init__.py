"""TL211: roles, orders and shapes that the template refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.parallel import parallel_outcome
from template_lint.facts.probes import ASK, SYSTEM, TOOL_RESULT
from template_lint.facts.schemas import failing_schemas
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
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule
from template_lint.rules.places import line_place
from template_lint.rules.wording import shorten

_SHORT_ID = "call_1"
_MOST_REASONS = 3
_MOST_REASON = 80


class RoleRefused(Rule):
    """The template refuses a role, an order of roles or a legal shape with ``raise_exception``.

    What: a system message, a developer message, a later system message, two user messages in a row; with tools, a tool
    result, two calls in one turn, an id that is not nine characters long, text (or reasoning and text) beside a call,
    and the shapes of TL205. A clear refusal is a documented limit of the model.

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
        refused = [(title, outcome) for title, outcome in outcomes if outcome.refused]
        if refused:
            yield self.finding(
                facts,
                f"refuses {_by_reason(refused)}",
                remedy="Do not send these to the model.",
                place=_raised_at(facts, refused[0][1]),
                evidence={
                    "refused": [title for title, _ in refused],
                    "reasons": [outcome.message for _, outcome in refused],
                },
            )


def _raised_at(facts: TemplateFacts, outcome: Outcome) -> Place | None:
    """The call of ``raise_exception`` on the line, where one is known by its words or stands alone there; the line."""
    calls = [
        call
        for call in facts.static.of(nodes.Call)
        if isinstance(call.node, nodes.Name) and call.node.name == "raise_exception" and call.lineno == outcome.line
    ]
    said = [call for call in calls if any(outcome.message in facts.constants.strings(word) for word in call.args)]
    if len(said) == 1 or len(calls) == 1:
        return facts.template.source_map.place(*facts.template.source_map.expression_range((said or calls)[0]))
    return line_place(facts, outcome.line)


def _by_reason(refused: list[tuple[str, Outcome]]) -> str:
    """What is refused, with the template's own words; what it refuses in the same words stands together."""
    reasons: dict[str, list[str]] = {}
    for title, outcome in refused:
        reasons.setdefault(outcome.message, []).append(title)
    groups = [f"{', '.join(titles)}: {shorten(reason, _MOST_REASON)}" for reason, titles in reasons.items()]
    more = [f"and {len(groups) - _MOST_REASONS} more"] if len(groups) > _MOST_REASONS else []
    return "; ".join([*groups[:_MOST_REASONS], *more])


def _roles(facts: TemplateFacts) -> Iterator[tuple[str, Outcome]]:
    """Conversations without tools. What is refused in the words that refuse it without the odd message is left out."""
    question = Conversation([ASK], tools=False).render(facts)
    yield "a plain user message", question
    exchange = Conversation([ASK, REPLY, ASK], tools=False).render(facts)
    cases: list[tuple[str, list[dict[str, Any]], Outcome]] = [
        ("a system message", [SYSTEM, ASK], question),
        ("a developer message", [{**SYSTEM, "role": "developer"}, ASK], question),
        ("a system message after the first exchange", [ASK, REPLY, SYSTEM, ASK], exchange),
        ("two user messages in a row", [ASK, ASK], question),
    ]
    for title, messages, without in cases:
        outcome = Conversation(messages, tools=False).render(facts)
        if not (without.refused and without.message == outcome.message):
            yield title, outcome


def _tools(facts: TemplateFacts) -> Iterator[tuple[str, Outcome]]:
    usual = tool_conversation(facts)
    plain = facts.render(usual.messages, generation_prompt=True)
    yield "a tool result", plain
    if not usual.render(facts).ok:
        return
    yield "two calls in one turn", parallel_outcome(facts)
    yield f"a call id such as {_SHORT_ID!r}", _with_id(facts, _SHORT_ID).render(facts)
    beside = Conversation([ASK, {**usual_call(facts), "content": BESIDE}, TOOL_RESULT]).render(facts)
    yield "text beside a call", beside
    if knows_reasoning(facts) and not beside.refused:
        yield "reasoning and text beside a call", reasoned_call(facts, content=BESIDE).render(facts)
    for variant in [*variants(facts), *failing_schemas(facts)]:
        yield variant.title, variant.outcome


def _with_id(facts: TemplateFacts, call_id: str) -> Conversation:
    usual = usual_call(facts)
    call = {**usual, "tool_calls": [{**usual["tool_calls"][0], "id": call_id}]}
    return Conversation([ASK, call, {**TOOL_RESULT, "tool_call_id": call_id}])
