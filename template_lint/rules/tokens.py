"""From token divergences to findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from template_lint.facts.divergences import TokenDivergence, token_divergence
from template_lint.facts.prefix import Question
from template_lint.facts.template_facts import TemplateFacts
from template_lint.model import Finding
from template_lint.rules.base import Rule
from template_lint.rules.divergence import token_evidence
from template_lint.rules.wording import around, plural


def token_findings(
    rule: Rule, facts: TemplateFacts, questions: Sequence[Question], *, what: str, remedy: str
) -> Iterator[Finding]:
    """One finding per pair of ids that part, for questions that hold in text and fail in ids."""
    groups: dict[tuple[int | None, int | None], list[TokenDivergence]] = {}
    for question in questions:
        divergence = token_divergence(facts, question)
        if divergence is not None:
            groups.setdefault((divergence.earlier_id, divergence.later_id), []).append(divergence)
    for group in groups.values():
        first = group[0]
        names = list(dict.fromkeys(divergence.question.scenario.name for divergence in group))
        earlier_token, later_token = facts.token_text(first.earlier_id), facts.token_text(first.later_id)
        text = first.question.earlier_outcome.text or ""
        earlier_excerpt, at = around(text, len(text))
        later_excerpt, _ = around(first.question.later_outcome.text or "", len(text))
        yield rule.finding(
            facts,
            f"{what}: token {first.token_index} is {earlier_token!r} before and {later_token!r} after"
            f" ({plural(len(group), 'question')} of {len(questions)})",
            remedy=remedy,
            scenario=names[0],
            evidence={
                "earlier": earlier_excerpt,
                "later": later_excerpt,
                "excerpt_offset": at,
                "offset": len(text),
                **token_evidence(facts, first.question),
                "scenarios": names,
                "cause": None,
            },
        )
