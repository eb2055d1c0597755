"""Whether a generation prompt fits the reply: one that opens a thinking block is meant for replies that think."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from template_lint.facts.inline_reasoning import reasoning_of
from template_lint.facts.prefix import Question
from template_lint.rendering.messages import REASONING_FIELDS

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts


def holds_in_its_mode(facts: TemplateFacts, question: Question) -> bool:
    """Whether an ASSISTANT question holds for the same reply with its reasoning taken away, or with some.

    A generation prompt that opens a thinking block is meant for replies that think, one that closes it for the others.
    """
    scenario = question.scenario
    *history, reply = scenario.messages[: question.later]
    finished = facts.render(
        [*history, _in_the_other_mode(facts, reply)], tools=scenario.tools, kwargs=scenario.kwargs
    ).text
    prompt = question.earlier_outcome.text
    return finished is not None and prompt is not None and finished.startswith(prompt)


def _in_the_other_mode(facts: TemplateFacts, reply: Mapping[str, Any]) -> Mapping[str, Any]:
    if facts.inline_tags is not None and reasoning_of(facts, reply):
        return {**reply, "content": facts.inline_tags.split(reply["content"])[1]}
    plain = {key: value for key, value in reply.items() if key not in REASONING_FIELDS}
    return plain if plain != reply else {**reply, REASONING_FIELDS[0]: "Let me see."}
