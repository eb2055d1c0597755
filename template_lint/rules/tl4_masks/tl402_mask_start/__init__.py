"""TL402: what is marked does not begin where the model begins to write."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.masks import Wrong, judged, mask_findings, model_start


class MaskStart(Rule):
    """What ``{% generation %}`` marks does not begin where the model begins to write.

    What: the generation prompt and the finished turn are rendered. The first marked character must be the first that
    the generation prompt does not have. Where a reply is not of the mode that the generation prompt asks for, it must
    lie behind the history.

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
        found = []
        for turn in judged(facts):
            if turn.marked and not turn.starts_right:
                begin = turn.marked[0][0]
                if begin < turn.start:
                    wrong = Wrong(
                        turn,
                        "{text}, which the generation prompt prints, is marked",
                        begin,
                        max(begin + 1, model_start(turn)),
                    )
                else:
                    wrong = Wrong(turn, "{text}, with which the model begins, is not marked", turn.start, begin)
                found.append(wrong)
        blank = [wrong for wrong in found if not wrong.text.strip() and wrong.start == wrong.turn.start]
        remedy = "Put {% generation %} right behind what add_generation_prompt prints."
        yield from mask_findings(self, facts, [wrong for wrong in found if wrong not in blank], remedy)
        remedy = "Leave the white space out, with {%- generation %} where the tag's line makes it: the prompt has none."
        yield from mask_findings(self, facts, blank, remedy)
