"""Made-up conversations with tools and their buffers: prompt, sampled turns, tool results, by the target's template."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from template_lint.audit.auditor import Auditor
from template_lint.errors import CannotCheckError

_TEXT = (
    "harbour tide northern ferry timetable morning depth metres below chart the a of at after before while gauge reads "
    "rising falling current wind from south quay lantern pilot crew cargo crates unload until slack water returns "
    "because buoy channel marker shallow draught vessel should wait moor early leave late signal lamp fog report "
    "harbourmaster confirms berth seven eleven forty three point two sounding table offset datum spring neap"
)
_WORDS = _TEXT.split()
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_tide",
            "description": "The tide at a port.",
            "parameters": {
                "type": "object",
                "properties": {"port": {"type": "string"}, "day": {"type": "integer"}},
                "required": ["port"],
            },
        },
    }
]
_MARK = "Quokkamark"


class Piece(NamedTuple):
    """Neighbouring tokens of a buffer: ``sampled`` by the model or not."""

    ids: list[int]
    sampled: bool


class Conversation(NamedTuple):
    """A buffer in pieces, the first of them the prompt, and the messages that the prompt was rendered from."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    pieces: list[Piece]

    @property
    def ids(self) -> list[int]:
        """The whole buffer."""
        return [token_id for piece in self.pieces for token_id in piece.ids]

    @property
    def mask(self) -> list[int]:
        """1 for each sampled token."""
        return [int(piece.sampled) for piece in self.pieces for _ in piece.ids]


class Talker:
    """Makes conversations for one target. Deterministic: the same ``random`` gives the same conversation."""

    def __init__(self, auditor: Auditor) -> None:
        """Raises CannotCheckError where the target has no template or no stop id."""
        self.auditor = auditor
        if not auditor.has_template:
            raise CannotCheckError(f"{auditor.options.target} has no chat template to make rollouts with.")
        if not auditor.stop_ids:
            raise CannotCheckError(f"{auditor.options.target} declares no token that ends a turn.")
        self.stop_id = auditor.stop_ids[0]
        self._delta = self._delta_text()

    def _delta_text(self) -> str | None:
        """What a tool result with the text _MARK adds behind the stop token of a turn; None where that is not clear."""
        call = {"id": "call00001", "type": "function", "function": {"name": "get_tide", "arguments": {"port": "x"}}}
        text = self.auditor.render_text(
            [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": "", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call00001", "name": "get_tide", "content": _MARK},
            ],
            TOOLS,
            True,
        )
        stop = self.auditor.tokenization.decode([self.stop_id])
        if text is None or text.count(_MARK) != 1:
            return None
        end = text.rfind(stop, 0, text.index(_MARK))
        return None if end < 0 else text[end + len(stop) :]

    def conversation(self, random: Random) -> Conversation:
        """One conversation with up to two tool results."""
        system = [{"role": "system", "content": _sentence(random, 6, 20)}] if random.random() < 0.3 else []
        messages = [*system, {"role": "user", "content": _sentence(random, 8, 40) + "?"}]
        rounds = random.choice((0, 1, 1, 2)) if self._delta is not None else 0
        tools = TOOLS if rounds else None
        text = self.auditor.render_text(messages, tools, True)
        if text is None:
            messages = messages[len(system) :]
            text = self.auditor.render_text(messages, tools, True)
        if text is None:
            raise CannotCheckError(f"the template of {self.auditor.options.target} renders no prompt of one message.")
        pieces = [Piece(self.auditor.encoder.encode(text), False)]
        for _ in range(rounds):
            pieces += [self.turn(random, _call(random)), self._result(random)]
        pieces.append(self.turn(random, _sentence(random, 20, 90)))
        return Conversation(messages, tools, pieces)

    def turn(self, random: Random, end: str = "done") -> Piece:
        """A turn of the model, ended by its stop token."""
        text = _sentence(random, 15, 60) + " " + end
        return Piece([*self.auditor.tokenization.encode(text), self.stop_id], True)

    def _result(self, random: Random) -> Piece:
        assert self._delta is not None
        result = (
            f'{{"port": "{random.choice(_WORDS)}", "metres": {random.random() * 9:.2f}}} {_sentence(random, 3, 12)}'
        )
        return Piece(self.auditor.tokenization.encode(self._delta.replace(_MARK, result)), False)


def _call(random: Random) -> str:
    return f'{{"name": "get_tide", "arguments": {{"port": "{random.choice(_WORDS)}", "day": {random.randint(1, 28)}}}}}'


def _sentence(random: Random, least: int, most: int) -> str:
    words = [random.choice(_WORDS) for _ in range(random.randint(least, most))]
    for at in range(random.randint(4, 9), len(words), 11):
        words[at] += random.choice((",", ".", ";", f" {random.randint(1, 400)}"))
    return " ".join(words).capitalize()
