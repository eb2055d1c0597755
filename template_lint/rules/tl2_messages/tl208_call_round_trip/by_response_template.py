"""Asks the model's own ``response_template`` to read back finished turns of every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.finished_turns import TYPED_ARGUMENTS, FinishedTurn, finished_turn, finished_turns, hard_call
from template_lint.facts.probes import ARGUMENT, ASK
from template_lint.facts.response_parser import Parsed, ResponseParser
from template_lint.rules.tl2_messages.tl208_call_round_trip.read_back import Difference, differences
from template_lint.rules.wording import shorten

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts

_MOST_SHOWN = 400
_OF_CALLS = {"tool_calls", "name", "arguments"}


class Misread(NamedTuple):
    """A turn that does not come back: the first of its kind, with all that differs in it.

    ``also`` are the titles of the other turns in which the same field differs. ``harmless`` says that the words came
    back under another name, and that this renders to the very same turn.
    """

    turn: FinishedTurn
    field: str
    text: str
    differences: list[Difference]
    also: list[str]
    offset: int
    harmless: bool = False

    def evidence(self, parser: ResponseParser) -> dict[str, Any]:
        """What a report shows of it."""
        first = self.differences[0] if self.differences else None
        turn = self.turn.texts[0]
        return {
            "parser": f"transformers {parser.version}",
            "field": self.field,
            "conversation": self.turn.sent.title,
            "sent": first.sent[:_MOST_SHOWN] if first else None,
            "read": first.read[:_MOST_SHOWN] if first else None,
            "lost": list(first.lost) if first else [],
            "differences": [difference.text for difference in self.differences],
            "also": self.also,
            "turn": turn[:_MOST_SHOWN],
        }


class Reading:
    """All turns of one template, read by one parser. ``asked`` counts them, ``calls`` those that hold calls."""

    def __init__(self, facts: TemplateFacts, parser: ResponseParser) -> None:
        self._facts = facts
        self._parser = parser
        self.asked = self.calls = 0

    def misread(self) -> list[Misread]:
        """What does not come back, once for each field. Nothing is asked of a parser that had to be stopped."""
        found: dict[str, Misread] = {}
        for turn in finished_turns(self._facts):
            self.asked += 1
            self.calls += bool(turn.sent.calls)
            parsed, differing = self._read(turn)
            if parsed.message is None:
                misread = self._raised(turn, parsed)
            elif differing:
                first = differing[0]
                same = self._renders_the_same(turn, parsed.message, differing)
                misread = Misread(turn, first.field, first.text, differing, [], _offset(turn, first.word), same)
            else:
                continue
            if misread.field in found:
                found[misread.field].also.append(turn.sent.title)
            else:
                found[misread.field] = misread
            if parsed.stopped:
                break
        return list(found.values())

    def _read(self, turn: FinishedTurn) -> tuple[Parsed, list[Difference]]:
        """The best of the texts that the model may have written."""
        results = []
        for text in turn.texts:
            parsed = self._parser.parse(text, turn.prompt, turn.sent.tools)
            differing = self._compare(turn, parsed.message) if parsed.message is not None else []
            results.append((parsed, differing))
            if parsed.stopped or (parsed.message is not None and not differing):
                return results[-1]
        return results[0]

    def _compare(self, turn: FinishedTurn, message: dict[str, Any]) -> list[Difference]:
        aliased = self._facts.profile.aliases_reasoning
        return differences(turn, message, typed=self._parser.takes_tools, aliased=aliased)

    def _renders_the_same(self, turn: FinishedTurn, message: dict[str, Any], differing: list[Difference]) -> bool:
        if any(difference.field in _OF_CALLS for difference in differing):
            return False
        tools = turn.sent.tools or None
        return self._facts.render([ASK, message], tools=tools, kwargs=turn.kwargs).text == turn.whole

    def _raised(self, turn: FinishedTurn, parsed: Parsed) -> Misread:
        word = turn.sent.words[0]
        text = f"parsing it was {parsed.problem}" if parsed.stopped else f"the parser raises {parsed.problem}"
        blamed: list[Difference] = []
        if turn.sent.tools and len(turn.sent.calls[0][1]) > 1 and not parsed.stopped:
            blamed = list(self._blamed())
            if blamed:
                word = blamed[0].word
                text = f"{blamed[0].text} makes the parser raise {parsed.problem}"
        return Misread(turn, "stopped" if parsed.stopped else "raised", text, blamed, [], _offset(turn, word))

    def _blamed(self) -> Iterator[Difference]:
        """Each argument alone says which of them the parser cannot read."""
        for key, value in TYPED_ARGUMENTS.items():
            turn = finished_turn(self._facts, hard_call(self._facts, {"zqkey": ARGUMENT, key: value}))
            if turn is None or key not in turn.texts[0]:
                continue
            parsed, _ = self._read(turn)
            if parsed.message is None and not parsed.stopped:
                sent = json.dumps(value, ensure_ascii=False)
                yield Difference("arguments", f"the argument {key!r}: {shorten(sent, 40)}", sent, "", key, (key,))


def _offset(turn: FinishedTurn, word: str) -> int:
    """Where a word is printed in the turn, or the first character of the turn that is no white space."""
    at = turn.whole.find(word, turn.start) if word else -1
    if at >= 0:
        return at
    rest = turn.whole[turn.start :]
    return turn.start + len(rest) - len(rest.lstrip())
