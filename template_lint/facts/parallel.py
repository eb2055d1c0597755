"""Two calls in one turn, and what of them reaches the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template_lint.facts.probes import ARGUMENT, ASK, CALL, CALL_ID, CALL_NAME, TOOL_RESULT
from template_lint.facts.variants import Conversation

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.rendering.template import Outcome

SECOND_NAME = "zqsecondcall"
SECOND_ARGUMENT = "zqothervalue"
SECOND_ID = "zqcall002"
RESULTS = ("zqresultone", "zqresulttwo")

_PARALLEL: dict[str, Any] = {
    **CALL,
    "tool_calls": [
        *CALL["tool_calls"],
        {
            "id": SECOND_ID,
            "type": "function",
            "function": {"name": SECOND_NAME, "arguments": {"zqother": SECOND_ARGUMENT}},
        },
    ],
}


def parallel_conversation(facts: TemplateFacts, *, swapped: bool = False, named: bool = False) -> Conversation:
    """Two calls and both results, in the accepted shape; ``swapped`` gives each result the other's id (and name)."""
    (calls,) = facts.shape.apply([_PARALLEL])
    owners = [(CALL_ID, CALL_NAME), (SECOND_ID, SECOND_NAME)]
    results = []
    for result, (call_id, name) in zip(RESULTS, reversed(owners) if swapped else owners, strict=True):
        message = {**TOOL_RESULT, "tool_call_id": call_id, "name": name, "content": result}
        if not named:
            del message["name"]
        results.append(message)
    return Conversation([ASK, calls, *results])


def parallel_outcome(facts: TemplateFacts, *, swapped: bool = False) -> Outcome:
    """The prompt; results carry names only where the template does not render them without."""
    named = not parallel_conversation(facts).render(facts).ok
    return parallel_conversation(facts, swapped=swapped, named=named).render(facts)


def shows_arguments(text: str) -> tuple[bool, bool]:
    """Whether the arguments of the first and of the second call are in a prompt."""
    return ARGUMENT in text, SECOND_ARGUMENT in text


def second_call_is_lost(facts: TemplateFacts) -> bool:
    """Whether the first call and both results are in the prompt, and nothing of the second call is."""
    text = parallel_outcome(facts).text
    if text is None or not all(result in text for result in RESULTS):
        return False
    return shows_arguments(text) == (True, False)
