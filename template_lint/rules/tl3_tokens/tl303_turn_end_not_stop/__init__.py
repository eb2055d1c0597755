"""TL303: generation does not stop where the assistant's turn ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import MARK, closes, ending_of, is_control, literal_place, marks_of
from template_lint.facts.turn import ASK, REPLY, Turn, plain_turn
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten

_CALL = "one-call"
_REMEDY = "List the id of the end of turn in eos_token_id of generation_config.json."


class _End(NamedTuple):
    """What follows the model's own words in a turn: text, ids, where it is printed."""

    what: str
    text: str
    ids: list[int]
    place: Place | None


class TurnEndNotStop(Rule):
    """Generation does not stop where the assistant's turn ends.

    What: what a finished reply, and a finished call, end with must have a stop id in it: eos_token of the tokenizer or
    eos_token_id of generation_config.json (config.json, where that is missing). Where the tokenizer alone names it,
    and these files name others, ``generate`` does not stop either: it does not ask the tokenizer.

    Why it matters: the model writes its end of turn and goes on, with the user's next turn of its own invention.

    How to fix: list the id in eos_token_id of generation_config.json.
    """

    code = "TL303"
    name = "turn-end-not-stop"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask for the reply; where it stops, ask for the call. Without a tokenizer only its configuration is asked."""
        if facts.tokenization is None:
            yield from self._by_text(facts)
            return
        stops = facts.tokenization.eos_ids
        if not stops:
            raise Skip("neither the tokenizer nor generation_config.json names a stop id")
        reply, call = _reply_end(facts), _call_end(facts)
        if reply is None and call is None:
            raise Skip("no finished reply that something ends (TL304)")
        ends = [end for end in (reply, call) if end is not None]
        for end in ends:
            if not set(end.ids) & set(stops) and not _is_spelled(facts, end):
                yield self._finding(facts, end)
                return
        own = facts.tokenization.habits.stop_ids
        for end in ends:
            if own and set(end.ids) & set(stops) and not set(end.ids) & set(own):
                yield self._not_the_models(facts, end, own)
                return

    def _by_text(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Whether a reply ends with the eos_token of tokenizer_config.json; other stop ids have no text here."""
        snapshot = facts.snapshot
        eos = facts.variables.get("eos_token")
        if snapshot is None or not snapshot.config or not eos or snapshot.stop_ids:
            raise Skip(facts.no_tokenizer)
        turn = plain_turn(facts)
        if turn is None or not turn.last.marks:
            raise Skip("no finished reply that something ends (TL304)")
        if eos not in turn.last.body:
            yield self.finding(
                facts,
                f"a reply ends with {shorten(turn.last.body.strip())}, and generation stops at {eos} by its "
                "tokenizer_config.json; generation_config.json is not here",
                remedy=_REMEDY,
                place=literal_place(facts, turn.last.marks[0]),
                evidence={"end": turn.last.body, "eos_token": eos},
            )

    def _finding(self, facts: TemplateFacts, end: _End) -> Finding:
        stops = facts.tokenizer.eos_ids
        known = "" if facts.tokenizer.habits.stop_ids else " by its tokenizer; generation_config.json is not here"
        return self.finding(
            facts,
            f"{end.what} ends with {shorten(end.text.strip())}, and generation stops at {_shown(facts, stops)}{known}",
            remedy=_REMEDY,
            place=end.place,
            evidence={"end": end.text, "end_ids": end.ids, "stop_ids": list(stops)},
        )

    def _not_the_models(self, facts: TemplateFacts, end: _End, own: tuple[int, ...]) -> Finding:
        return self.finding(
            facts,
            f"{end.what} ends with {shorten(end.text.strip())}, the eos_token of the tokenizer, and generate() stops "
            f"only at what the model's configuration names: {_shown(facts, own)}",
            remedy=_REMEDY,
            place=end.place,
            evidence={"end": end.text, "end_ids": end.ids, "stop_ids": list(own)},
        )


def _shown(facts: TemplateFacts, ids: tuple[int, ...]) -> str:
    return ", ".join(f"{facts.token_text(token_id)} ({token_id})" for token_id in ids)


def _is_spelled(facts: TemplateFacts, end: _End) -> bool:
    """Whether no mark of the end is a token at all, which is TL302's to report."""
    marks = [mark for mark in ending_of(end.text).marks if is_control(mark)]
    return bool(marks) and all(facts.tokenizer.token_id(mark) is None for mark in marks)


def _reply_end(facts: TemplateFacts) -> _End | None:
    turn = plain_turn(facts)
    if turn is None or not turn.last.marks:
        return None
    text = turn.text[turn.reply_end :]
    ids = _ids_from(facts, turn.text, turn.reply_end)
    at = turn.reply_end + len(text) - len(text.lstrip())
    return _End("a reply", _without_header(turn), ids, facts.place_in([ASK, REPLY], at))


def _without_header(turn: Turn) -> str:
    """The marks that end a reply, without those that open another turn behind it."""
    openers = {mark for mark in marks_of(turn.opening) if not closes(mark)}
    at = 0
    for number, mark in enumerate(turn.last.marks):
        at = turn.last.body.index(mark, at)
        if number and mark in openers:
            return turn.last.body[:at]
        at += len(mark)
    return turn.last.body


def _call_end(facts: TemplateFacts) -> _End | None:
    """The end of a turn with a call: what follows the last argument, where the call is in the prompt at all."""
    scenario = next((s for s in facts.scenarios if s.name == _CALL), None)
    if scenario is None or not facts.tool_rules_apply or not facts.tool_probe.arguments:
        return None
    text = facts.render_scenario(scenario, 2, False).text
    reply = plain_turn(facts)
    if text is None or reply is None or not reply.last.marks:
        return None
    at = max(text.rfind(word) + len(word) for word in ("Vlissingen", "lookup_tide"))
    end = text[at:]
    if not end.strip():
        return None
    marks = [match.start() for match in MARK.finditer(end)]
    at += next((start for start in marks if not ending_of(end[start:]).rest), 0)
    return _End(
        "a call", text[at:], _ids_from(facts, text, at), facts.printed_at(scenario, 2, False, len(text.rstrip()) - 1)
    )


def _ids_from(facts: TemplateFacts, text: str, start: int) -> list[int]:
    """The ids of the tokens that begin at or after a code point."""
    ids, offsets = facts.tokenizer.encode_with_offsets(text)
    return [token_id for token_id, (begin, _) in zip(ids, offsets, strict=True) if begin >= start]
