"""TL306: a mark of the template is an added token that is not special."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.written import written_marks, written_place
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.wording import listed


class MarkerNotSpecial(Rule):
    """A mark of the template is an added token that is not special.

    What: marks that the template writes and that are one id of the tokenizer, added with ``special: false``.

    Why it matters: they survive ``skip_special_tokens=True`` (parsers may count on that) and
    ``split_special_tokens=True``, which is meant to keep users from typing control tokens.

    How to fix: often nothing: reasoning and calls are meant to be seen. Refuse such text from users.
    """

    code = "TL306"
    name = "marker-not-special"
    severity = Severity.INFO
    needs = ("template", "syntax", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding for all marks of the kind."""
        tokenizer = facts.tokenizer
        plain = tokenizer.added_ids - tokenizer.special_ids
        marks = [mark for mark in written_marks(facts) if tokenizer.token_id(mark) in plain]
        if marks:
            verb = "is an added token that is" if len(marks) == 1 else "are added tokens that are"
            yield self.finding(
                facts,
                f"{listed(marks)} {verb} not special: skip_special_tokens keeps them, split_special_tokens does not "
                "split them",
                remedy="Know it when you strip or parse replies; refuse such text from users.",
                place=written_place(facts, marks[0]),
                evidence={"marks": {mark: tokenizer.token_id(mark) for mark in marks}},
            )
