"""TL309: text follows the token that ends the assistant's turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import literal_place
from template_lint.facts.turn import plain_turn
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class GlueAfterTerminator(Rule):
    """White space follows the token that ends the assistant's turn.

    What: a finished reply is rendered; after its last mark there is white space, such as the newline of Qwen after
    ``<|im_end|>``.

    Why it matters: the model stops at the mark and never samples what follows. A loop that appends sampled ids must put
    it back, or the next prompt is not the one that the template would give. A loss mask must leave it out.

    How to fix: nothing in the template. ``template_lint.tito.delta`` puts it back; a loop of your own must do so.
    """

    code = "TL309"
    name = "glue-after-terminator"
    severity = Severity.INFO

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Read the end of a finished reply."""
        turn = plain_turn(facts)
        if turn is None:
            raise Skip("no finished reply renders")
        last = turn.last
        if not last.marks or not last.glue or last.rest:
            return
        evidence: dict[str, Any] = {"terminator": last.marks[-1], "glue": last.glue}
        ids = ""
        if facts.tokenization is not None:
            evidence["glue_ids"] = facts.tokenization.encode(last.glue)
            ids = f" ({', '.join(map(str, evidence['glue_ids']))})"
        yield self.finding(
            facts,
            f"{last.glue!r}{ids} follows {last.marks[-1]}, at which the model stops",
            remedy="A loop that appends sampled ids must put it back; a loss mask must leave it out.",
            place=literal_place(facts, last.marks[-1]),
            evidence=evidence,
        )
