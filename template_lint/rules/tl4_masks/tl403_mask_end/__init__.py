"""TL403: what is marked does not end with the token that ends the turn."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import ending_of, marks_of
from template_lint.facts.masks import MarkedTurn, ends_in_white_space
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.masks import Wrong, judged, mask_findings


class MaskEnd(Rule):
    """What ``{% generation %}`` marks does not end with the token that ends the turn.

    What: the last marked character must be the last of the finished turn that is no white space. White space after it
    is a warning, and so is another mark after the one that ends the turn.

    Why it matters: a model that is never trained on its end of turn does not stop. White space after it is never
    sampled: the loss counts a token that the model does not write.

    How to fix: put ``{% endgeneration %}`` right behind the token that ends the turn.
    """

    code = "TL403"
    name = "mask-end"
    severity = Severity.ERROR
    needs = ("template", "syntax", "generation")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Compare both offsets in every turn that has a mark."""
        blank = ends_in_white_space(facts)
        found = [wrong for turn in judged(facts) if turn.marked and (wrong := _judge(turn, blank)) is not None]
        spaces = [wrong for wrong in found if not wrong.text.strip()]
        remedy = "Put {% endgeneration %} right behind the token that ends the turn."
        yield from mask_findings(self, facts, [wrong for wrong in found if wrong not in spaces], remedy)
        remedy = f"{remedy[:-1]}, and print white space after the tag."
        yield from mask_findings(self, facts, spaces, remedy)


def _judge(turn: MarkedTurn, blank: bool) -> Wrong | None:
    end = turn.marked[-1][1]
    if end > turn.stop:
        message = "{text} after the end of the turn is marked: the model stops before it"
        return None if blank else Wrong(turn, message, turn.stop, end, Severity.WARNING)
    if end == turn.stop:
        return None
    rest = turn.text[end : turn.stop]
    tail = turn.text[slice(*turn.marked[-1])].rstrip()
    marks = marks_of(tail)
    if marks and tail.endswith(marks[-1]) and not ending_of(rest).rest:
        return Wrong(turn, "{text} follows the end of the turn unmarked", end, turn.stop, Severity.WARNING)
    return Wrong(turn, "{text}, with which the turn ends, is not marked", end, turn.stop)
