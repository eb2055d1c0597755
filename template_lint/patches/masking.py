"""The mask law: ``{% generation %}`` marks what the model wrote, no more and no less. All of it is read off renders."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, Step, excerpt

_REPLY = "zqreply"


def mask(pair: Pair) -> Iterator[Counterexample | None]:
    """The spans of a finished turn cover it from the end of the generation prompt to the end of its terminator."""
    facts = pair.candidate
    if not facts.static.has_generation_tag:
        raise NotApplicable("no {% generation %} in the template")
    blank_terminator = _ends_in_white_space(facts)
    for step in pair.original.steps:
        if step.appends_reply and step.earlier == step.later - 1:
            yield from _of_turn(facts, step, blank_terminator)


def _of_turn(facts: TemplateFacts, step: Step, blank_terminator: bool) -> Iterator[Counterexample | None]:
    scenario = step.scenario
    closed = facts.render_scenario(scenario, step.earlier, False).text
    prompt = facts.render_scenario(scenario, step.earlier, True).text
    outcome, spans = facts.template.render_with_spans(facts.scenario_context(scenario, step.later, False))
    text = outcome.text
    if closed is None or prompt is None or text is None:
        return
    yield None
    history = common_prefix_length(closed, text)
    start = common_prefix_length(prompt, text)
    stop = len(text.rstrip())
    marked = _joined([(a, b) for a, b in spans if b > history])
    right = len(marked) == 1 and (marked[0][1] == stop or (blank_terminator and stop <= marked[0][1]))
    if right and start == len(prompt):
        right = marked[0][0] == start
    elif right:  # the reply is not of the mode that the generation prompt asks for: it has no exact beginning
        right = min(history + 1, start) <= marked[0][0] <= start
    if not right:
        found = " + ".join(repr(text[a:b]) for a, b in marked) or "nothing"
        at = marked[0][0] if marked and marked[0][0] != start else start
        yield Counterexample(scenario.name, step.later, at, repr(text[start:stop]), found, "what is marked")
    before = [span for span in spans if span[1] <= history]
    earlier_text, earlier_spans = facts.template.render_with_spans(
        facts.scenario_context(scenario, step.earlier, False)
    )
    if (
        earlier_text.text is not None
        and text.startswith(earlier_text.text)
        and _joined(before) != _joined(earlier_spans)
    ):
        at = next((a for a, _ in before), 0)
        yield Counterexample(
            scenario.name, step.later, at, str(earlier_spans), str(before), "what is marked of earlier turns"
        )
    if any(_is_foreign(text[a:b], scenario.messages[: step.later]) for a, b in before):
        yield Counterexample(scenario.name, step.later, before[0][0], "", excerpt(text, before[0][0]), "foreign text")


def _is_foreign(text: str, messages: list[dict[str, object]]) -> bool:
    """Whether a marked text has the content of a message that the model did not write."""
    others = [m["content"] for m in messages if m["role"] != "assistant" and isinstance(m.get("content"), str)]
    return any(content in text for content in others if content)  # type: ignore[operator]


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Adjacent spans as one, empty ones left out."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if start == end:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined


def _ends_in_white_space(facts: TemplateFacts) -> bool:
    """Whether nothing but white space follows the content of a plain reply: then no terminator can be told from it."""
    messages = [{"role": "user", "content": "zqquestion"}, {"role": "assistant", "content": _REPLY}]
    text = facts.render(messages).text or ""
    return not text.rpartition(_REPLY)[2].strip()
