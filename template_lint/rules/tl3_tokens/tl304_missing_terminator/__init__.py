"""TL304: nothing ends a finished assistant turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import ending_of, literal_place, marks_of
from template_lint.facts.turn import ASK, NEXT, REPLY, Turn, plain_turn
from template_lint.facts.written import written_marks
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import setting, shorten

_END = r"</s>|<[|｜]?(?:im_end|eos|eot|eot_id|end|end(?:_|▁)?of(?:_|▁)?(?:turn|sentence|text))[|｜]?>"

_MOST_KWARGS = 16


class MissingTerminator(Rule):
    """Nothing ends a finished assistant turn.

    What: a question and its reply are rendered. After the reply there must be a token that says so. Where the mark of
    the next user's turn does that job, as in GLM, it is an info (nothing, where the tokenizer lists it as a stop id).
    Where the template writes an end of turn elsewhere, or that mark is plain text such as ``[INST]``, it does not. It
    is an info, too, where a template kwarg such as ``is_training`` ends the reply that comes last.

    Why it matters: who trains on the rendered text teaches the model never to stop, and a loop that appends sampled ids
    finds no place for the stop token it received.

    How to fix: write the end-of-turn token after the content of every assistant message, the last one included; or pass
    the template kwarg that the finding names.
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
        elsewhere = _written_end(facts)
        if (
            header is not None
            and elsewhere is None
            and header[0] != "["
            and header not in _assistant_header(facts, turn)
        ):
            yield from self._header(facts, turn, header)
            return
        remedy = "Write the end-of-turn token after the content of every assistant message."
        evidence = {"finished": turn.text[-160:], "between": turn.middle}
        place = facts.place_in([ASK, REPLY], turn.reply_end - 1)
        marks = ending_of(turn.middle or "").marks
        severity = self.severity
        if marks and header is None:
            message = f"a reply that comes last is left open: {marks[0]} ends it only once another message follows"
            remedy = (
                f"Write {marks[0]} after the last reply too; continue_final_message cuts it off where that is wanted."
            )
            closing = _closing_kwargs(facts, marks[0])
            if closing:
                message += f", or with {setting(closing)}"
                remedy = f"Pass {setting(closing)} where a finished conversation is rendered, as for training."
                severity = Severity.INFO
            elif _closes_when_asked_to_go_on(facts, marks[0]):
                message += ", or with add_generation_prompt=true"
        elif turn.middle is None:
            message = "nothing ends a finished reply"
        else:
            message = (
                f"nothing ends a finished reply: the next user's turn begins with {shorten(turn.middle, 32)} after it"
            )
        if elsewhere is not None and elsewhere not in message:
            message += f"; elsewhere the template writes {elsewhere}"
            remedy = f"Write {elsewhere} after the content of every assistant message."
        yield self.finding(facts, message, remedy=remedy, place=place, evidence=evidence, severity=severity)

    def _header(self, facts: TemplateFacts, turn: Turn, header: str) -> Iterator[Finding]:
        if facts.tokenization is not None and facts.tokenization.token_id(header) in facts.tokenization.eos_ids:
            return
        at = turn.reply_end + (turn.middle or "").index(header)
        yield self.finding(
            facts,
            f"nothing ends a reply until {header} opens the next turn: generation stops there only if it is a stop id,"
            " or at a token that the template never writes",
            remedy=f"Check that generation_config.json lists {header}, or the token that the model was trained to end"
            " with, as an eos_token_id; for training, append that token.",
            place=literal_place(facts, header) or facts.place_in([ASK, REPLY, NEXT], at),
            evidence={"header": header},
            severity=Severity.INFO,
        )


def _closing_kwargs(facts: TemplateFacts, mark: str) -> dict[str, object]:
    """The template kwarg with which a mark ends the last reply; {} where none of them does that."""
    functions = facts.template.environment.globals
    for name in [name for name in facts.static.kwargs if name not in functions][:_MOST_KWARGS]:
        for value in (True, False):
            text = facts.render([ASK, REPLY], kwargs={name: value}).text or ""
            if mark in ending_of(text.rpartition(REPLY["content"])[2], mark).marks:
                return {name: value}
    return {}


def _closes_when_asked_to_go_on(facts: TemplateFacts, mark: str) -> bool:
    """Whether a mark ends the last reply where a generation prompt is asked for, and nothing follows it."""
    text = facts.render([ASK, REPLY], generation_prompt=True).text or ""
    ending = ending_of(text.rpartition(REPLY["content"])[2], mark)
    return ending.marks == [mark] and not ending.rest


def _written_end(facts: TemplateFacts) -> str | None:
    """A mark that the template writes somewhere and that is called the end of a turn or of the text."""
    return next((mark for mark in written_marks(facts) if re.fullmatch(_END, mark, re.IGNORECASE)), None)


def _assistant_header(facts: TemplateFacts, turn: Turn) -> list[str]:
    """The marks that open the assistant's turn: one that opens every turn is no sign of the user's."""
    start = turn.text.find(ASK["content"])
    return marks_of(turn.text[start + len(ASK["content"]) : turn.reply_end]) if start >= 0 else []
