"""TL304: nothing ends a finished assistant turn."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import ending_of, literal_place, marks_of
from template_lint.facts.turn import ASK, REPLY, Turn, plain_turn
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten


class MissingTerminator(Rule):
    """Nothing ends a finished assistant turn.

    What: a question and its reply are rendered. After the reply there must be a token that says so. Where the mark of
    the next user's turn does that job, as in GLM, it is an info (nothing, where the tokenizer lists it as a stop id).

    Why it matters: who trains on the rendered text teaches the model never to stop, and a loop that appends sampled ids
    finds no place for the stop token it received.

    How to fix: write the end-of-turn token after the content of every assistant message, the last one included.
    """

    code = "TL304"
    name = "missing-terminator"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look at what follows the reply, and then at what stands between two turns."""
        turn = plain_turn(facts)
        if turn is None:
            raise Skip("no finished reply renders")
        if turn.last.marks:
            return
        if turn.last.rest:
            raise Skip(f"other text follows the reply ({shorten(turn.last.rest, 24)}): this is no open conversation")
        if turn.middle is not None and not turn.middle.strip():
            raise Skip("the template writes nothing between messages: it has no turns")
        header = turn.next_header
        if header is not None and header not in _assistant_header(facts, turn):
            yield from self._header(facts, header)
            return
        remedy = "Write the end-of-turn token after the content of every assistant message."
        evidence = {"finished": turn.text[-160:], "between": turn.middle}
        place = facts.place_in([ASK, REPLY], turn.reply_end - 1)
        marks = ending_of(turn.middle or "").marks
        if marks and header is None:
            message = f"a reply that comes last is left open: {marks[0]} ends it only once another message follows"
            remedy = (
                f"Write {marks[0]} after the last reply too; continue_final_message cuts it off where that is wanted."
            )
        elif turn.middle is None:
            message = "nothing ends a finished reply"
        else:
            message = (
                f"nothing ends a finished reply: the next user's turn begins with {shorten(turn.middle, 32)} after it"
            )
        yield self.finding(facts, message, remedy=remedy, place=place, evidence=evidence)

    def _header(self, facts: TemplateFacts, header: str) -> Iterator[Finding]:
        if facts.tokenization is not None and facts.tokenization.token_id(header) in facts.tokenization.eos_ids:
            return
        yield self.finding(
            facts,
            f"replies end where {header} opens the next turn: it must be a stop id, and the last reply has no end",
            remedy=f"Check that generation_config.json lists {header} as an eos_token_id; for training, append it.",
            place=literal_place(facts, header),
            evidence={"header": header},
            severity=Severity.INFO,
        )


def _assistant_header(facts: TemplateFacts, turn: Turn) -> list[str]:
    """The marks that open the assistant's turn: one that opens every turn is no sign of the user's."""
    start = turn.text.find(ASK["content"])
    return marks_of(turn.text[start + len(ASK["content"]) : turn.reply_end]) if start >= 0 else []
