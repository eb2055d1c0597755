"""Where prefix questions fail: in text, each failure with its cause, and in token ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from template_lint.facts.cause import Cause, find_cause
from template_lint.facts.prefix import Appended, Question, common_prefix_length, wants_generation_prompt
from template_lint.scenarios.model import strings_of

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_SIGNATURE = 24


class Divergence(NamedTuple):
    """A prefix question that fails in text: the first differing offset, and why."""

    question: Question
    offset: int
    cause: Cause | None


class TokenDivergence(NamedTuple):
    """A prefix that holds in text and fails in ids: the first differing index and both ids (None past the end)."""

    question: Question
    token_index: int
    earlier_id: int | None
    later_id: int | None


def divergences(
    facts: TemplateFacts, appended: Appended, counts: Callable[[Question], bool] | None = None
) -> list[Divergence]:
    """The questions of one kind that fail in text (and that ``counts`` does not excuse), each with its cause.

    Divergences with the same text on both sides of the same place are one divergence seen again: the cause is
    searched for the first.
    """
    found: list[Divergence] = []
    causes: dict[tuple[str, str, str], Cause | None] = {}
    for question in facts.answered(appended):
        if not question.holds and (counts is None or counts(question)):
            earlier, later = question.earlier_outcome.text or "", question.later_outcome.text or ""
            at = common_prefix_length(earlier, later)
            before = earlier[max(0, at - _SIGNATURE) : at]
            signature = (before, earlier[at : at + _SIGNATURE], later[at : at + _SIGNATURE])
            if signature not in causes:
                causes[signature] = _cause(facts, question, earlier, later)
            found.append(Divergence(question, at, causes[signature]))
    return found


def _cause(facts: TemplateFacts, question: Question, earlier: str, later: str) -> Cause | None:
    scenario = question.scenario
    contexts = [
        facts.scenario_context(scenario, count, wants_generation_prompt(scenario, count))
        for count in (question.earlier, question.later)
    ]
    return find_cause(
        facts.template,
        (contexts[0], contexts[1]),
        (earlier, later),
        keep=tuple(strings_of(scenario.messages[: question.earlier])),
        memory=facts.causes[question.appended],
    )


def token_divergence(facts: TemplateFacts, question: Question) -> TokenDivergence | None:
    """Where the ids of the earlier render stop being a prefix of those of the later one, or None."""
    assert question.earlier_outcome.text is not None and question.later_outcome.text is not None
    earlier, later = facts.ids(question.earlier_outcome.text), facts.ids(question.later_outcome.text)
    if later[: len(earlier)] == earlier:
        return None
    index = next(
        (i for i, (a, b) in enumerate(zip(earlier, later, strict=False)) if a != b), min(len(earlier), len(later))
    )
    return TokenDivergence(question, index, _at(earlier, index), _at(later, index))


def _at(ids: list[int], index: int) -> int | None:
    return ids[index] if index < len(ids) else None
