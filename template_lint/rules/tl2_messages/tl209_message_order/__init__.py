"""TL209: text stands in another order than in the conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import wants_generation_prompt
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule
from template_lint.rules.defects import moving_texts
from template_lint.rules.places import message_printed_at
from template_lint.rules.wording import around, plural, shorten
from template_lint.scenarios.model import Scenario

_ROLES = {"user": "the user's", "assistant": "the assistant's", "tool": "the tool result"}


class _Disorder(NamedTuple):
    scenario: Scenario
    cut: int
    prompt: str
    earlier: int
    later: int
    offset: int


class MessageOrder(Rule):
    """Text stands in the prompt in another order than in the conversation.

    What: in the prompt of a catalogue conversation, the text of a message comes only after the text of a later one.
    System messages are left out: some models want them at the last user message. So are prompts in which a message is
    missing, or there more often than it was said: templates of judges pick the messages they need. Where a tool result
    pushes text of an earlier message behind it, the finding of TL101 tells both.

    Why it matters: the model reads an answer before the question, or a tool's result before the thought that led to
    the call; and what was in the buffer already can no longer be a prefix.

    How to fix: render the messages in order, each with everything that belongs to it.
    """

    code = "TL209"
    name = "message-order"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look at renders that are there already; one finding per pair of roles."""
        groups: dict[tuple[str, str], list[_Disorder]] = {}
        for scenario in facts.scenarios:
            if (scenario.kwargs and not scenario.own) or (scenario.tools is not None and not facts.tool_rules_apply):
                continue
            disorder = _first_disorder(facts, scenario)
            if disorder is not None:
                roles = [scenario.messages[index]["role"] for index in (disorder.earlier, disorder.later)]
                groups.setdefault((roles[0], roles[1]), []).append(disorder)
        for group in groups.values():
            first = group[0]
            earlier, later = (_shown(first.scenario.messages[index]) for index in (first.earlier, first.later))
            brief = f"{earlier} comes after {later}"
            excerpt, at = around(first.prompt, first.offset)
            yield self.finding(
                facts,
                f"{brief} in the prompt, before it in the conversation ({plural(len(group), 'scenario')})",
                remedy="Render the messages in order, each with everything that belongs to it.",
                place=_place(facts, first),
                scenario=first.scenario.name,
                evidence={
                    "prompt": excerpt,
                    "excerpt_offset": at,
                    "offset": first.offset,
                    "scenarios": [disorder.scenario.name for disorder in group],
                },
                defects=moving_texts(disorder.scenario.messages[disorder.earlier]["content"] for disorder in group),
                brief=brief,
            )


def _first_disorder(facts: TemplateFacts, scenario: Scenario) -> _Disorder | None:
    for count in scenario.cuts:
        text = facts.render_scenario(scenario, count, wants_generation_prompt(scenario, count)).text
        if text is not None:
            pair = _disordered(text, scenario.messages[:count])
            if pair is not None:
                return _Disorder(scenario, count, text, *pair)
    return None


def _disordered(text: str, messages: Sequence[Any]) -> tuple[int, int, int] | None:
    """Two messages whose texts stand in the wrong order, and the offset of the one that comes too late.

    None where a text is not there as often as it was said: a template that picks messages has an order of its own.
    """
    said = [(index, message["content"]) for index, message in enumerate(messages) if _has_text(message)]
    places = {content: _occurrences(text, content) for _, content in said}
    if any(len(places[content]) != sum(other == content for _, other in said) for content in places):
        return None
    last, last_at = -1, -1
    disorder = None
    for index, content in said:
        at = places[content].pop(0)
        if at < last_at:
            disorder = disorder or (last, index, last_at)
        else:
            last, last_at = index, at
    return disorder


def _has_text(message: Any) -> bool:
    return message.get("role") in _ROLES and isinstance(message.get("content"), str) and bool(message["content"])


def _occurrences(text: str, content: str) -> list[int]:
    found = [text.find(content)]
    while found[-1] >= 0:
        found.append(text.find(content, found[-1] + 1))
    return found[:-1]


def _shown(message: dict[str, Any]) -> str:
    who = _ROLES[message["role"]]
    return f"{who} {shorten(message['content'], 32)}"


def _place(facts: TemplateFacts, disorder: _Disorder) -> Place | None:
    prompt = wants_generation_prompt(disorder.scenario, disorder.cut)
    return message_printed_at(facts, disorder.scenario, disorder.cut, prompt, disorder.offset)
