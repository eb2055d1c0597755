"""The verdict for agentic loops, from renders only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from template_lint.facts.divergences import token_divergence
from template_lint.facts.prefix import Appended, Question
from template_lint.model import Verdict
from template_lint.scenarios.model import Scenario

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_HISTORY = (Appended.USER, Appended.SYSTEM)


def verdict_of(facts: TemplateFacts) -> Verdict:
    """One of DESIGN.md's words, over all rounds and thinking modes, in text and (with a tokenizer) in ids."""
    return _overall(facts)._replace(appended=appended_verdicts(facts))


def appended_verdicts(facts: TemplateFacts) -> dict[str, str]:
    """``stable``, ``unstable`` or ``unrenderable`` for each kind of message that a loop may append."""
    words = {}
    for kind in (Appended.TOOL, *_HISTORY):
        if not facts.answered(kind):
            words[kind.value] = "unrenderable"
        else:
            words[kind.value] = "unstable" if _breaks(facts, facts.questions, (kind,)) else "stable"
    return words


def _overall(facts: TemplateFacts) -> Verdict:
    if not any(question.answered for question in facts.questions):
        return Verdict(tito="unrenderable")
    if not facts.static.reads_tools:
        return Verdict(tito="no-tools")
    if not facts.answered(Appended.TOOL):
        return Verdict(tito="unrenderable")
    tool_breaks = _breaks(facts, facts.questions, (Appended.TOOL,))
    if not tool_breaks and not _breaks(facts, facts.questions, _HISTORY):
        return Verdict(tito="stable")
    kwargs = _stabilising_kwargs(facts)
    if kwargs is not None:
        return Verdict(tito="stable-with-kwargs", kwargs=kwargs)
    return Verdict(tito="unstable" if tool_breaks else "breaks-on-user")


def _breaks(facts: TemplateFacts, questions: Iterable[Question], kinds: tuple[Appended, ...]) -> bool:
    for question in questions:
        if question.appended is Appended.ASSISTANT and Appended.USER in kinds and _reply_rewrites(facts, question):
            return True
        if question.appended in kinds and question.answered:
            if not question.holds:
                return True
            if facts.tokenization is not None and token_divergence(facts, question) is not None:
                return True
    return False


def _reply_rewrites(facts: TemplateFacts, question: Question) -> bool:
    """Whether the reply itself rewrites the history before it, generation prompt aside: a later turn then starts from
    another text than the buffer holds.
    """
    history = facts.history_of(question)
    return history is not None and not (question.later_outcome.text or "").startswith(history)


def _stabilising_kwargs(facts: TemplateFacts) -> dict[str, Any] | None:
    base = [scenario for scenario in facts.scenarios if "[" not in scenario.name and not scenario.own]
    # Scenarios that are known to break come first: most switches fail on the first question.
    broken = {question.scenario.name for question in facts.questions if question.answered and not question.holds}
    base.sort(key=lambda scenario: scenario.name not in broken)
    for kwargs in facts.switches:
        if _all_hold(facts, base, kwargs):
            return kwargs
    return None


def _all_hold(facts: TemplateFacts, base: list[Scenario], kwargs: dict[str, Any]) -> bool:
    answered = False
    asked = [scenario.with_kwargs(kwargs) for scenario in base]
    for scenario in [*asked, *facts.inline_scenarios(kwargs)]:
        questions = facts.questions_of(scenario)
        if _breaks(facts, questions, (Appended.TOOL, *_HISTORY)):
            return False
        answered = answered or any(q.appended is Appended.TOOL and q.answered for q in questions)
    return answered
