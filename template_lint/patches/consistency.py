"""Laws of the candidate by itself: what a loop that appends to a buffer relies on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from template_lint.facts.delta import delta_differences
from template_lint.facts.divergences import token_divergence
from template_lint.facts.mode import holds_in_its_mode
from template_lint.facts.prefix import Appended, Question, common_prefix_length
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, excerpt


def prefix_of(appended: Appended) -> Callable[[Pair], Iterator[Counterexample | None]]:
    """The law that appending messages of one kind keeps the text before them."""

    def law(pair: Pair) -> Iterator[Counterexample | None]:
        if appended.value not in pair.stable_roles:
            raise NotApplicable(f"{appended.value} messages are not said to be stable")
        asked = False
        for question in pair.questions():
            if question.appended is appended:
                if question.answered:
                    asked = True
                    yield None
                    if not question.holds:
                        yield _broken(question, f"{appended.value} messages appended")
                elif all(pair.facts.render_scenario(question.scenario, n, p).ok for n, p in _sides(question)):
                    yield _unrendered(question)
            elif appended is Appended.USER and question.appended is Appended.ASSISTANT:
                yield from _reply_rewrites(pair, question)
        if not asked:
            raise NotApplicable(f"no conversation with {appended.value} messages appended renders")

    return law


def _sides(question: Question) -> list[tuple[int, bool]]:
    messages = question.scenario.messages
    return [(n, messages[n - 1].get("role") != "assistant") for n in (question.earlier, question.later)]


def _reply_rewrites(pair: Pair, question: Question) -> Iterator[Counterexample]:
    history = pair.candidate.history_of(question)
    later = question.later_outcome.text
    if history is not None and later is not None and not later.startswith(history):
        yield _difference(question, history, later, "the reply rewrites what is before it")


def _broken(question: Question, detail: str) -> Counterexample:
    earlier, later = question.earlier_outcome.text, question.later_outcome.text
    assert earlier is not None and later is not None
    return _difference(question, earlier, later, detail)


def _difference(question: Question, earlier: str, later: str, detail: str) -> Counterexample:
    at = common_prefix_length(earlier, later)
    return Counterexample(question.scenario.name, question.later, at, excerpt(earlier, at), excerpt(later, at), detail)


def _unrendered(question: Question) -> Counterexample:
    outcome = question.later_outcome if question.earlier_outcome.ok else question.earlier_outcome
    detail = f"does not render: {outcome.error}: {outcome.message}"
    return Counterexample(question.scenario.name, question.later, 0, "", "", detail)


def prefix_ids(pair: Pair) -> Iterator[Counterexample | None]:
    """For every stable role, the prefix holds in token ids where it holds in text."""
    facts = pair.candidate
    if facts.tokenization is None:
        raise NotApplicable(facts.no_tokenizer)
    for question in pair.questions():
        if question.appended.value in pair.stable_roles and question.answered and question.holds:
            yield None
            divergence = token_divergence(facts, question)
            if divergence is not None:
                earlier, later = (facts.token_text(i) or "" for i in (divergence.earlier_id, divergence.later_id))
                index, name = divergence.token_index, question.scenario.name
                yield Counterexample(name, question.later, index, earlier, later, "token ids")


def generation_prompt(pair: Pair) -> Iterator[Counterexample | None]:
    """The generation prompt is how the finished turn begins, for replies of the mode that it asks for."""
    for question in pair.questions():
        if question.appended is Appended.ASSISTANT and question.answered:
            yield None
            if not question.holds and not holds_in_its_mode(pair.candidate, question):
                yield _broken(question, "generation prompt and finished turn")


def delta_history(pair: Pair) -> Iterator[Counterexample | None]:
    """Tool results add to a dummy conversation what they add to the real one."""
    different, compared = delta_differences(pair.candidate)
    if not compared:
        raise NotApplicable("no tool message keeps the prefix of a dummy conversation")
    for _ in range(compared):
        yield None
    for difference in different:
        name, count = difference.question.scenario.name, difference.question.later
        excerpts = excerpt(difference.dummy, difference.at), excerpt(difference.real, difference.at)
        yield Counterexample(name, count, difference.at, *excerpts, "delta of the dummy and the real delta")
