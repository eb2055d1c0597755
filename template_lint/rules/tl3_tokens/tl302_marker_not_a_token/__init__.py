"""TL302: a control token of the template is plain text to the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import is_control, marks_of
from template_lint.facts.turn import ASK
from template_lint.facts.written import marks_in_turns, written_marks, written_place
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.wording import listed
from template_lint.tokenization import Tokenization

_BRACKETED = r"\[.*\]"
_UNKNOWN = "Use the tokenizer that belongs to the template, or add the tokens and train them."
_SPELLED = "Often nothing: a model may be meant to spell them. A parser must look for the text, not for an id."


class MarkerNotAToken(Rule):
    """A control token of the template is plain text to the tokenizer.

    What: every mark that the template writes must be one id in the tokenizer. ``<|x|>`` and ``<start_x>`` are errors;
    ``<think>`` and other tags are warnings where the prompt for a reply ends with them, and infos elsewhere in turns:
    some models are meant to spell them. Tags in instructions to the model, ``[INST]`` and what the template only looks
    for do not count.

    Why it matters: the model never saw the spelled form. It is cut differently depending on its neighbours, a stop at
    it cannot work, and anybody can type it.

    How to fix: use the tokenizer that belongs to the template, or add the tokens and train them. Tags that the model is
    meant to spell need nothing; a parser must look for their text.
    """

    code = "TL302"
    name = "marker-not-a-token"
    severity = Severity.ERROR
    needs = ("template", "syntax", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Ask the tokenizer for each mark."""
        spelled = [mark for mark in written_marks(facts) if _is_spelled(facts.tokenizer, mark)]
        control = [mark for mark in spelled if is_control(mark)]
        in_turns = set(marks_in_turns(facts))
        tags = [
            mark for mark in spelled if mark in in_turns and mark not in control and not re.fullmatch(_BRACKETED, mark)
        ]
        if control:
            yield self._finding(facts, control, Severity.ERROR)
        if tags:
            forced = [mark for mark in tags if mark in _ends_of_prompts(facts)]
            yield self._finding(facts, [*forced, *tags], Severity.WARNING if forced else Severity.INFO)

    def _finding(self, facts: TemplateFacts, marks: Sequence[str], severity: Severity) -> Finding:
        marks = list(dict.fromkeys(marks))
        pieces = {mark: [facts.token_text(token_id) for token_id in facts.tokenizer.encode(mark)] for mark in marks}
        first = " ".join(map(repr, pieces[marks[0]]))
        verb = "is no token" if len(marks) == 1 else "are no tokens"
        return self.finding(
            facts,
            f"{listed(marks)} {verb} of this tokenizer: {marks[0]} becomes {first}",
            remedy=_SPELLED if severity is Severity.INFO else _UNKNOWN,
            place=written_place(facts, marks[0]),
            evidence={"marks": list(marks), "pieces": pieces},
            severity=severity,
        )


def _ends_of_prompts(facts: TemplateFacts) -> set[str]:
    """The marks with which the prompt for a reply ends, in any thinking mode."""
    found: set[str] = set()
    for switches in ({}, *facts.switches):
        text = facts.render([ASK], generation_prompt=True, kwargs=switches).text or ""
        found.update(marks_of(text.partition(ASK["content"])[2]))
    return found


def _is_spelled(tokenization: Tokenization, mark: str) -> bool:
    return tokenization.token_id(mark) not in tokenization.added_ids and len(tokenization.encode(mark)) != 1
