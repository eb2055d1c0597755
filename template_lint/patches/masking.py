"""The mask law: ``{% generation %}`` marks what the model wrote, no more and no less. All of it is read off renders."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts.masks import MarkedTurn, ends_in_white_space, marked_turn
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, excerpt


def mask(pair: Pair) -> Iterator[Counterexample | None]:
    """The spans of a finished turn cover it from the end of the generation prompt to the end of its terminator.

    White space after the terminator may be marked; ``mask-end`` says whether it is.
    """
    for turn in _turns(pair):
        yield None
        if len(turn.marked) != 1 or not turn.reaches_end or not turn.starts_right:
            found = " + ".join(repr(turn.text[a:b]) for a, b in turn.marked) or "nothing"
            yield _wrong(turn, found, turn.marked[0][0] if turn.marked else turn.start, "what is marked")
        yield from _history(turn)


def mask_end(pair: Pair) -> Iterator[Counterexample | None]:
    """Nothing after the terminator is marked: the sampler stops there, so it never emits the white space that follows.

    A turn that ends in white space alone may mark it.
    """
    blank = ends_in_white_space(pair.candidate)
    for turn in _turns(pair):
        yield None
        if turn.marked and turn.marked[-1][1] > turn.stop and not blank:
            yield _wrong(turn, repr(turn.text[slice(*turn.marked[-1])]), turn.stop, "marked after the terminator")


def _turns(pair: Pair) -> Iterator[MarkedTurn]:
    facts = pair.candidate
    if not facts.static.has_generation_tag:
        raise NotApplicable("no {% generation %} in the template")
    for step in pair.original.steps:
        if step.appends_reply and step.earlier == step.later - 1:
            turn = marked_turn(facts, step.scenario, step.earlier, pair.marked)
            if turn is not None:
                yield turn


def _history(turn: MarkedTurn) -> Iterator[Counterexample]:
    """Earlier turns stay marked as they were, and no message of another is marked."""
    if turn.alone is not None and turn.before != turn.alone:
        yield _wrong(turn, str(turn.before), 0, f"earlier turns were marked {turn.alone}")
    if turn.foreign is not None:
        start = turn.foreign[0]
        yield _wrong(turn, excerpt(turn.text, start), start, "a message of another is marked")


def _wrong(turn: MarkedTurn, found: str, at: int, detail: str) -> Counterexample:
    expected = repr(turn.text[turn.start : turn.stop])
    return Counterexample(turn.scenario.name, turn.length, at, expected, found, detail)
