"""TL307: one token holds the end of what the model wrote and the beginning of what the tool wrote."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.divergences import token_divergence
from template_lint.facts.marks import is_control, marks_of
from template_lint.facts.prefix import Appended
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip

_LONGEST = 80


class BoundaryMerge(Rule):
    """One token holds the end of what the model wrote and the beginning of what was appended.

    What: a conversation with a tool result is encoded as a whole. No token may begin in the assistant's turn and end in
    the tool's. Prefixes that fail in ids are TL102; an end of turn that is no token is TL302.

    Why it matters: no mask is right for such a token, and the model never sampled it: what it sampled ends at the
    border.

    How to fix: end the assistant's turn with a special token. Never encode a conversation as a whole: append ids.
    """

    code = "TL307"
    name = "boundary-merge"
    severity = Severity.WARNING
    needs = ("template", "syntax", "tools", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look for a token that straddles the border, in questions whose text and ids hold."""
        questions = [q for q in facts.answered(Appended.TOOL) if q.holds and not q.scenario.own]
        if not questions:
            raise Skip("no tool result can be appended in text (TL101, TL202)")
        seen: dict[int, list[str]] = {}
        first = None
        for question in questions:
            earlier, later = question.earlier_outcome.text or "", question.later_outcome.text or ""
            border = len(earlier.rstrip())
            if _is_spelled(facts, earlier[:border]):
                continue
            ids, offsets = facts.tokenizer.encode_with_offsets(later)
            straddling = [i for i, (a, b) in zip(ids, offsets, strict=True) if a < border < b]
            if straddling and token_divergence(facts, question) is None:
                seen.setdefault(straddling[0], []).append(question.scenario.name)
                first = first or (question, border, later[border - 20 : border + 20])
        for token_id, names in seen.items():
            assert first is not None
            question, border, excerpt = first
            yield self.finding(
                facts,
                f"token {facts.token_text(token_id)!r} ({token_id}) holds the end of the assistant's turn and the "
                "beginning of what follows",
                remedy="End the assistant's turn with a special token; never encode a conversation as a whole.",
                place=facts.printed_at(question.scenario, question.later, True, border - 1),
                scenario=names[0],
                evidence={"token_id": token_id, "excerpt": excerpt, "scenarios": names},
            )


def _is_spelled(facts: TemplateFacts, text: str) -> bool:
    """Whether a text ends with a mark that should be a token and is none."""
    marks = marks_of(text[-_LONGEST:])
    return (
        bool(marks) and text.endswith(marks[-1]) and is_control(marks[-1]) and not facts.tokenizer.token_id(marks[-1])
    )
