"""The mask law: ``{% generation %}`` marks what the model wrote, no more and no less. All of it is read off renders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, Step, excerpt

Range = tuple[int, int]
_REPLY = "zqreply"


class _Turn(NamedTuple):
    """A finished turn that is last in ``text``, and what is marked in it.

    It begins where the ``closed`` history before it ends; the generation prompt ends at ``start`` (``exact`` where the
    turn begins with all of it); its last character that is no white space is before ``stop``. ``marked`` are the spans
    in it, ``before`` those in the history.
    """

    step: Step
    text: str
    history: int
    start: int
    exact: bool
    stop: int
    marked: list[Range]
    before: list[Range]

    def wrong(self, found: str, at: int, detail: str) -> Counterexample:
        """A counterexample in this turn."""
        expected = repr(self.text[self.start : self.stop])
        return Counterexample(self.step.scenario.name, self.step.later, at, expected, found, detail)


def mask(pair: Pair) -> Iterator[Counterexample | None]:
    """The spans of a finished turn cover it from the end of the generation prompt to the end of its terminator.

    White space after the terminator may be marked; ``mask-end`` says whether it is.
    """
    for turn in _turns(pair):
        yield None
        whole = len(turn.marked) == 1 and turn.marked[0][1] >= turn.stop
        if whole and turn.exact:
            whole = turn.marked[0][0] == turn.start
        elif whole:  # the reply is not of the mode that the generation prompt asks for: it has no exact beginning
            whole = min(turn.history + 1, turn.start) <= turn.marked[0][0] <= turn.start
        if not whole:
            found = " + ".join(repr(turn.text[a:b]) for a, b in turn.marked) or "nothing"
            yield turn.wrong(found, turn.marked[0][0] if turn.marked else turn.start, "what is marked")
        yield from _history(pair, turn)


def mask_end(pair: Pair) -> Iterator[Counterexample | None]:
    """Nothing after the terminator is marked: the sampler stops there, so it never emits the white space that follows.

    A turn that ends in white space alone may mark it.
    """
    blank = _ends_in_white_space(pair.candidate)
    for turn in _turns(pair):
        yield None
        if turn.marked and turn.marked[-1][1] > turn.stop and not blank:
            yield turn.wrong(repr(turn.text[slice(*turn.marked[-1])]), turn.stop, "marked after the terminator")


def _turns(pair: Pair) -> Iterator[_Turn]:
    facts = pair.candidate
    if not facts.static.has_generation_tag:
        raise NotApplicable("no {% generation %} in the template")
    for step in pair.original.steps:
        scenario = step.scenario
        if not step.appends_reply or step.earlier != step.later - 1:
            continue
        closed = facts.render_scenario(scenario, step.earlier, False).text
        prompt = facts.render_scenario(scenario, step.earlier, True).text
        text, spans = _marked(pair, step, step.later)
        if closed is None or prompt is None or text is None:
            continue
        history, start = common_prefix_length(closed, text), common_prefix_length(prompt, text)
        yield _Turn(
            step=step,
            text=text,
            history=history,
            start=start,
            exact=start == len(prompt),
            stop=len(text.rstrip()),
            marked=[(a, b) for a, b in spans if b > history],
            before=[(a, b) for a, b in spans if b <= history],
        )


def _history(pair: Pair, turn: _Turn) -> Iterator[Counterexample]:
    """Earlier turns stay marked as they were, and no message of another is marked."""
    text, spans = _marked(pair, turn.step, turn.step.earlier)
    if text is not None and turn.text.startswith(text) and turn.before != spans:
        yield turn.wrong(str(turn.before), 0, f"earlier turns were marked {spans}")
    for start, end in turn.before:
        if _is_foreign(turn.text[start:end], turn.step.scenario.messages[: turn.step.earlier]):
            yield turn.wrong(excerpt(turn.text, start), start, "a message of another is marked")


def _marked(pair: Pair, step: Step, count: int) -> tuple[str | None, list[Range]]:
    text, spans = pair.marked(step.scenario, count)
    return text, _joined(spans)


def _is_foreign(text: str, messages: list[dict[str, object]]) -> bool:
    """Whether a marked text has the content of a message that the model did not write."""
    others = [m["content"] for m in messages if m["role"] != "assistant" and isinstance(m.get("content"), str)]
    return any(content in text for content in others if content)  # type: ignore[operator]


def _joined(spans: list[Range]) -> list[Range]:
    """Adjacent spans as one, empty ones left out."""
    joined: list[Range] = []
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
