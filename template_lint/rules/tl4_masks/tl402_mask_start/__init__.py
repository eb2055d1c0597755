"""TL402: what is marked does not begin where the model begins to write."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.masks import MarkedTurn
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.masks import Wrong, judged, mask_findings, model_start


class MaskStart(Rule):
    """What ``{% generation %}`` marks does not begin where the model begins to write.

    What: the generation prompt and the finished turn are rendered. The first marked character must be the first that
    the generation prompt does not have; where only spaces are left out, which tokenizers take along with the word
    behind them, it is a warning. Where a reply is not of the mode that the generation prompt asks for, it must lie
    behind the history.

    Why it matters: with the header inside, the loss counts tokens that the prompt gives; with the beginning outside,
    the first tokens that the model samples are never trained.

    How to fix: move ``{% generation %}`` right behind what ``add_generation_prompt`` prints, thinking block included.
    """

    code = "TL402"
    name = "mask-start"
    severity = Severity.ERROR
    needs = ("template", "syntax", "generation")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare both offsets in every turn that has a mark."""
        turns = [turn for turn in judged(facts) if turn.marked and turn.marked[0][0] != model_start(turn)]
        found = [_judge(turn) for turn in turns if not turn.starts_right]
        blank = [wrong for wrong in found if not wrong.text.strip() and wrong.start == wrong.turn.start]
        remedy = "Put {% generation %} right behind what add_generation_prompt prints."
        yield from mask_findings(self, facts, [wrong for wrong in found if wrong not in blank], remedy)
        remedy = "Leave the white space out, with {%- generation %} where the tag's line makes it, or mark it too."
        yield from mask_findings(self, facts, blank, remedy)


def _judge(turn: MarkedTurn) -> Wrong:
    begin = turn.marked[0][0]
    if begin < turn.start:
        message = "{text}, which the generation prompt prints, is marked"
        return Wrong(turn, message, begin, max(begin + 1, model_start(turn)))
    spaces = not turn.text[turn.start : begin].strip(" ")
    severity = Severity.WARNING if spaces else Severity.ERROR
    return Wrong(turn, "{text}, with which the model begins, is not marked", turn.start, begin, severity)
