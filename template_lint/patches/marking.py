"""Which statements of a template print what the model wrote: read off renders of an instrumented copy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length, wants_generation_prompt
from template_lint.patches.edits import Edit, apply_edits
from template_lint.patches.outline import Body, Statement, outline
from template_lint.patches.pair import Step, original_of, sibling

_NOT_INSIDE = frozenset({"macro", "call", "filter", "set", "generation"})
_OPEN, _CLOSE = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(/?)([0-9]+){_CLOSE}")


class Piece(NamedTuple):
    """A printed range [start, end) of one render and the index of the statement that printed it."""

    statement: int
    start: int
    end: int


class Turn(NamedTuple):
    """A finished turn as the last of a render: what the model wrote is [start, stop) of the text.

    The history before the turn ends at ``history``. ``exact`` says that the turn begins with the whole generation
    prompt; otherwise the model may have begun anywhere after ``history`` up to ``start``.
    """

    text: str
    fresh: bool
    history: int
    start: int
    exact: bool
    stop: int
    pieces: list[Piece]
    message: Mapping[str, Any]
    kwargs: Mapping[str, Any]


def printing_statements(facts: TemplateFacts) -> list[Statement]:
    """Every text and print of a template that a generation block may enclose, in source order."""
    return sorted(_printing(outline(facts.template.source_map)), key=lambda statement: statement.start)


def _printing(body: Body) -> Iterator[Statement]:
    for statement in body.statements:
        if statement.keyword in ("text", "print"):
            yield statement
        elif statement.keyword not in _NOT_INSIDE:
            for inner in statement.bodies:
                yield from _printing(inner)


def observe(facts: TemplateFacts, original: TemplateFacts) -> list[Turn]:
    """Every finished turn of the scenarios with the statements that printed it.

    Empty where the instrumented copy prints another text: then nothing can be said.
    """
    statements = printing_statements(facts)
    copy = sibling(original, apply_edits(facts.source, _instrument(facts, statements)))
    turns = []
    for step in original_of(original).steps:
        if not step.appends_reply or step.earlier != step.later - 1:
            continue
        turn = _turn(facts, copy, step)
        if turn is not None:
            turns.append(turn)
    return turns


def _instrument(facts: TemplateFacts, statements: Sequence[Statement]) -> list[Edit]:
    """Marks before and after every statement; they strip exactly the white space that was stripped before."""
    source = facts.template.source_map.text
    edits = []
    for index, statement in enumerate(statements):
        text = source[statement.start : statement.end]
        is_print = statement.keyword == "print"
        before = "-" if is_print and text.startswith("{{-") else ""
        strips = text.endswith("-}}") if is_print else _stripped_after(source, statement.end)
        after = "-" if strips else ""
        opening = f"{{{{{before} '{_OPEN}{index}{_CLOSE}' }}}}"
        closing = f"{{{{ '{_OPEN}/{index}{_CLOSE}' {after}}}}}"
        edits.append(Edit(statement.start, statement.end, f"{opening}{text}{closing}"))
    return edits


def _stripped_after(source: str, end: int) -> bool:
    """Whether white space follows that belongs to no token: the text has lost it to the tag behind it."""
    return source[end : end + 1].isspace()


def _turn(facts: TemplateFacts, copy: TemplateFacts, step: Step) -> Turn | None:
    scenario = step.scenario
    closed = facts.render_scenario(scenario, step.earlier, False).text
    prompt = facts.render_scenario(scenario, step.earlier, True).text
    text = facts.render_scenario(scenario, step.later, False).text
    marked = copy.render_scenario(scenario, step.later, wants_generation_prompt(scenario, step.later)).text
    if closed is None or prompt is None or text is None or marked is None:
        return None
    pieces = _pieces(marked)
    if _MARK.sub("", marked) != text:
        return None
    start = common_prefix_length(prompt, text)
    history, stop = common_prefix_length(closed, text), len(text.rstrip())
    if history < len(closed.rstrip()):
        return None  # the reply rewrites what is before it: where it begins cannot be told
    return Turn(
        text,
        step.fresh,
        history,
        start,
        start == len(prompt),
        stop,
        pieces,
        scenario.messages[step.earlier],
        scenario.kwargs,
    )


def _pieces(marked: str) -> list[Piece]:
    pieces = []
    opened: list[tuple[int, int]] = []
    position = last = 0
    for match in _MARK.finditer(marked):
        position += match.start() - last
        last = match.end()
        if match[1]:
            statement, start = opened.pop()
            if position > start:
                pieces.append(Piece(statement, start, position))
        else:
            opened.append((int(match[2]), position))
    return pieces


class Occurrence(NamedTuple):
    """One time that a statement printed in an assistant's turn, the ``nth`` in that turn from 0.

    ``inside`` says whether the model wrote it; ``open`` that it may count as either, because the reply is not of the
    mode that the generation prompt asks for.
    """

    inside: bool
    open: bool
    nth: int
    message: Mapping[str, Any]
    kwargs: Mapping[str, Any]


class Role(NamedTuple):
    """How often a statement printed what the model wrote (``inside``), and what it did not.

    The latter is counted apart for the turn itself (``before``: its header) and for messages of others (``foreign``).
    ``cuts`` are offsets into the printed text at which the one becomes the other; ``heads`` are the texts that the
    generation prompt prints already where it ends within the printed text. ``occurrences`` are those in the turn.
    """

    inside: int
    before: int
    foreign: int
    cuts: frozenset[int]
    heads: frozenset[str]
    occurrences: tuple[Occurrence, ...]

    @property
    def outside(self) -> int:
        """How often it printed what the model did not write."""
        return self.before + self.foreign


def roles(turns: Sequence[Turn]) -> dict[int, Role]:
    """The part each statement plays in the turns that were observed."""
    inside: dict[int, int] = defaultdict(int)
    before: dict[int, int] = defaultdict(int)
    foreign: dict[int, int] = defaultdict(int)
    heads: dict[int, set[str]] = defaultdict(set)
    cuts: dict[int, set[int]] = defaultdict(set)
    seen: dict[int, list[Occurrence]] = defaultdict(list)
    for turn in turns:
        begin = begin_of(turn)
        nth: dict[int, int] = defaultdict(int)
        for piece in turn.pieces:
            within = begin < piece.end and piece.start < turn.stop
            if piece.start >= turn.history and piece.start < turn.stop:
                undecided = not turn.exact and not within and piece.start > turn.history
                occurrence = Occurrence(within, undecided, nth[piece.statement], turn.message, turn.kwargs)
                seen[piece.statement].append(occurrence)
                nth[piece.statement] += 1
            if piece.end <= begin or piece.start >= turn.stop:
                if piece.start >= turn.history:
                    before[piece.statement] += 1
                elif turn.fresh:
                    foreign[piece.statement] += 1
                continue
            inside[piece.statement] += 1
            if piece.start < begin:
                cuts[piece.statement].add(begin - piece.start)
                heads[piece.statement].add(turn.text[piece.start : begin])
            if piece.end > turn.stop:
                cuts[piece.statement].add(turn.stop - piece.end)
    return {
        s: Role(inside[s], before[s], foreign[s], frozenset(cuts[s]), frozenset(heads[s]), tuple(seen[s]))
        for s in {*inside, *before, *foreign}
    }


def begin_of(turn: Turn) -> int:
    """Where the model began: exact, or the last border between two pieces from which it may have begun."""
    if turn.exact:
        return turn.start
    borders = [piece.start for piece in turn.pieces if turn.history < piece.start <= turn.start]
    return max(borders, default=turn.start)
