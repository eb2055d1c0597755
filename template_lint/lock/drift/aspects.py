"""What a run relies on beside the prompts: the delta of a tool result, the mask, the ends of a turn, where it stops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from template_lint.facts.delta import dummy_delta
from template_lint.lock.drift.model import Aspect
from template_lint.lock.drift.prompts import first_difference
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts

_ASK: dict[str, Any] = {"role": "user", "content": "When is high water in Vlissingen?"}
_REPLY = "High water comes twice a day."
_ANSWER: dict[str, Any] = {"role": "assistant", "content": _REPLY}
_RESULT = {"role": "tool", "tool_call_id": "callTide1", "name": "lookup_tide", "content": "tide 12:04 plus 4.31 m"}
_MOST_CHARACTERS = 400


def aspects_of(before: TemplateFacts, after: TemplateFacts, scenarios: Sequence[Scenario]) -> Iterator[Aspect]:
    """The aspects that concern these templates; ``scenarios`` are the conversations compared."""
    if before.static.reads_tools or after.static.reads_tools:
        yield _delta(before, after)
    yield _text("generation prompt", _generation_prompt(before), _generation_prompt(after))
    yield _text("end of turn", _turn_end(before), _turn_end(after))
    yield _mask(before, after, scenarios)
    yield from _stops(before, after)


def _delta(before: TemplateFacts, after: TemplateFacts) -> Aspect:
    """The delta of one tool result on the dummy conversation: what a loop appends to its buffer."""
    one, other = (dummy_delta(facts, [_RESULT], {}) for facts in (before, after))
    if one is None or other is None:
        if one == other:
            return Aspect("delta", "same", "delta of a tool result (defined on neither side)")
        status = "lost" if other is None else "gained"
        what = "no longer defined: a tool result rewrites the turn before it" if other is None else "now defined"
        return Aspect("delta", status, f"the delta of a tool result is {what}", _cut(one), _cut(other))
    if one != other:
        return Aspect("delta", "changed", "a tool result adds another text to the buffer", _cut(one), _cut(other))
    if before.tokenization is not None and after.tokenization is not None:
        token = first_difference(before.tokenization, after.tokenization, one, other)
        if token is not None:
            sentence = f"a tool result adds other token ids to the buffer, the first at token {token.at} of the delta"
            before_token, after_token = (
                None if token_id is None else f"{text} ({token_id})"
                for token_id, text in ((token.before_id, token.before_text), (token.after_id, token.after_text))
            )
            return Aspect("delta", "changed", sentence, before_token, after_token)
    return Aspect("delta", "same", "delta of a tool result")


def _text(name: str, one: str | None, other: str | None) -> Aspect:
    if one == other:
        return Aspect(name, "same", name)
    status = "lost" if not other else "gained" if not one else "changed"
    return Aspect(name, status, f"the {name} {'is ' if status != 'changed' else ''}{status}", _cut(one), _cut(other))


def _generation_prompt(facts: TemplateFacts) -> str | None:
    with_prompt = facts.render([_ASK], generation_prompt=True).text
    without = facts.render([_ASK]).text
    if with_prompt is None or without is None or not with_prompt.startswith(without):
        return None
    return with_prompt[len(without) :]


def _turn_end(facts: TemplateFacts) -> str | None:
    text = facts.render([_ASK, _ANSWER]).text
    if text is None or _REPLY not in text:
        return None
    return text.rpartition(_REPLY)[2]


def _mask(before: TemplateFacts, after: TemplateFacts, scenarios: Sequence[Scenario]) -> Aspect:
    """What ``{% generation %}`` marks; a loop that keeps its own mask asks for none of it."""
    marked = before.static.has_generation_tag, after.static.has_generation_tag
    if marked == (False, False):
        return Aspect("mask", "same", "mask (neither template has {% generation %})")
    if marked[0] != marked[1]:
        status, word = ("lost", "no longer") if marked[0] else ("gained", "now")
        return Aspect("mask", status, f"the template {word} marks what the model writes ({{% generation %}})")
    differing = [scenario.name for scenario in scenarios if _marks(before, scenario) != _marks(after, scenario)]
    if differing:
        where = f"in {len(differing)} of {len(scenarios)} conversations, first {differing[0]}"
        return Aspect("mask", "changed", f"{{% generation %}} marks other text {where}")
    return Aspect("mask", "same", "mask ({% generation %} marks the same text in every conversation)")


def _marks(facts: TemplateFacts, scenario: Scenario) -> list[str] | str:
    try:
        context = facts.scenario_context(scenario, len(scenario.messages), False)
    except Exception as error:  # what apply_chat_template raises for the messages of the user
        return type(error).__name__
    outcome, spans = facts.template.render_with_spans(context)
    return [(outcome.text or "")[start:end] for start, end in spans]


def _stops(before: TemplateFacts, after: TemplateFacts) -> Iterator[Aspect]:
    one, other = before.tokenization, after.tokenization
    if one is None or other is None or (one.eos_ids == other.eos_ids and _names(before) == _names(after)):
        return
    yield Aspect("stop ids", "changed", "generation stops at other ids", _names(before), _names(after))


def _names(facts: TemplateFacts) -> str:
    return ", ".join(f"{facts.token_text(token_id)} ({token_id})" for token_id in facts.tokenizer.eos_ids) or "none"


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:_MOST_CHARACTERS]
