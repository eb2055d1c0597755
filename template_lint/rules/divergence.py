"""From divergences to findings: those with one cause become one finding that lists its scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from template_lint.facts.cause import Cause
from template_lint.facts.divergences import Divergence, divergences, token_divergence
from template_lint.facts.prefix import Appended, Question, common_suffix_length, wants_generation_prompt
from template_lint.facts.template_facts import TemplateFacts
from template_lint.facts.turn import plain_turn, turn_in_parts
from template_lint.model import Finding, Place
from template_lint.rules.base import Rule, Skip
from template_lint.rules.defects import moving_texts, passing_text
from template_lint.rules.wording import around, code, listed, setting, shorten, word_start
from template_lint.scenarios.model import Scenario


def prefix_findings(
    rule: Rule,
    facts: TemplateFacts,
    appended: Appended,
    *,
    what: str | Callable[[Divergence], str],
    remedy: str | Callable[[Divergence], str | None] | None = None,
    counts: Callable[[Question], bool] | None = None,
) -> Iterator[Finding]:
    """One finding per cause for the text divergences of one kind. ``what`` begins the sentence; ``remedy`` replaces
    the remedy that follows from the cause, unless that is a piece which stands behind every message; ``counts`` may say
    that a question which fails is another rule's. Raises Skip where no question of this kind could be asked.
    """
    asked = require_answers(facts, appended)
    for place, group in _by_place(facts, by_cause(divergences(facts, appended, counts))):
        first = group[0]
        names = list(dict.fromkeys(divergence.question.scenario.name for divergence in group))
        evidence = text_evidence(facts, first, names)
        sentence = what if isinstance(what, str) else what(first)
        given = remedy(first) if callable(remedy) else remedy
        rest = f" ({len(group)} of {len(asked)} cases)"
        if appended is Appended.USER:
            helps = switch_that_prevents(facts, appended, group)
            if helps is not None:
                rest += f"; {setting(helps)} prevents it"
                evidence["prevented_by"] = helps
            elif not any(divergence.question.scenario.kwargs == {} for divergence in group):
                rest += f"; only with {listed(_settings(group))}"
        yield rule.finding(
            facts,
            f"{sentence}: {_values(first)}{_because(first.cause, place)}{rest}",
            remedy=_remedy(first.cause) if given is None or _stands_behind(appended, first.cause) else given,
            place=place,
            scenario=names[0],
            evidence=evidence,
            defects=[*passing_text(place), *moving_texts(_moved(group))],
            brief=f"{sentence}{rest}",
        )


def _stands_behind(appended: Appended, cause: Cause | None) -> bool:
    """Whether a piece is printed behind the last message, whichever that is, and not only where the model is asked."""
    return appended is not Appended.ASSISTANT and cause is not None and cause.moves


def require_turns(facts: TemplateFacts) -> None:
    """Raises Skip where the template quotes the whole conversation to a judge: no turn of it is ever continued."""
    turn = plain_turn(facts) or turn_in_parts(facts)
    if turn is not None and turn.is_judged:
        raise Skip(f"the conversation is quoted for a judge: {shorten(turn.last.rest, 32)} follows a finished reply")


def require_answers(facts: TemplateFacts, appended: Appended) -> list[Question]:
    """The answered questions of one kind. Raises Skip with the template's own reason where there are none."""
    asked = facts.answered(appended)
    if asked:
        return asked
    for question in facts.unanswered(appended):
        failed = question.earlier_outcome if not question.earlier_outcome.ok else question.later_outcome
        raise Skip(f"no {appended.value} scenario renders: {failed.error}: {failed.message[:120]}")
    raise Skip(f"no scenario appends a {appended.value} message")


def by_cause(found: list[Divergence]) -> list[list[Divergence]]:
    """Group divergences by cause, in order of first appearance; unproven ones together."""
    groups: dict[Any, list[Divergence]] = {}
    for divergence in found:
        cause = divergence.cause
        groups.setdefault(cause.key if cause and cause.proven else None, []).append(divergence)
    return list(groups.values())


def _by_place(facts: TemplateFacts, groups: list[list[Divergence]]) -> list[tuple[Place | None, list[Divergence]]]:
    """The groups with their places. Two that blame one place are one, the proven first: a condition that must change
    alone or with others, an expression that is the cause or only what is printed.
    """
    merged: dict[Place | int, tuple[Place | None, list[Divergence]]] = {}
    for index, group in enumerate(sorted(groups, key=lambda group: not (group[0].cause and group[0].cause.proven))):
        cause = group[0].cause
        place = cause.place if cause else _printed(facts, group[0])
        merged.setdefault(index if place is None else place, (place, []))[1].extend(group)
    return list(merged.values())


def text_evidence(facts: TemplateFacts, divergence: Divergence, scenarios: list[str]) -> dict[str, Any]:
    """The evidence of DESIGN.md, with excerpts around the divergence instead of whole renders."""
    earlier, later = _texts(divergence)
    earlier_excerpt, at = around(earlier, divergence.offset)
    later_excerpt, _ = around(later, divergence.offset)
    return {
        "earlier": earlier_excerpt,
        "later": later_excerpt,
        "excerpt_offset": at,
        "offset": divergence.offset,
        "common_tail": common_suffix_length(earlier[divergence.offset :], later[divergence.offset :]),
        **token_evidence(facts, divergence.question),
        "scenarios": scenarios,
        "messages": [divergence.question.earlier, divergence.question.later],
        "cause": cause_evidence(divergence.cause),
    }


def token_evidence(facts: TemplateFacts, question: Question) -> dict[str, Any]:
    """Where the ids of both renders part: index, ids and texts; only the index, None, where there is no tokenizer."""
    divergence = token_divergence(facts, question) if facts.tokenization is not None else None
    if divergence is None:
        return {"token_index": None}
    return {
        "token_index": divergence.token_index,
        "token_earlier": facts.token_text(divergence.earlier_id),
        "token_later": facts.token_text(divergence.later_id),
        "token_id_earlier": divergence.earlier_id,
        "token_id_later": divergence.later_id,
    }


def cause_evidence(cause: Cause | None) -> dict[str, Any] | None:
    """The cause as JSON."""
    if cause is None:
        return None
    return {
        "line": cause.place.line,
        "column": cause.place.column,
        "end_line": cause.place.end_line,
        "end_column": cause.place.end_column,
        "source": cause.source,
        "outcome_earlier": cause.outcome_earlier,
        "outcome_later": cause.outcome_later,
        "proven": cause.proven,
        "kind": cause.kind,
        "printed": cause.printed,
    }


def switch_that_prevents(facts: TemplateFacts, appended: Appended, group: list[Divergence]) -> dict[str, Any] | None:
    """The first thinking switch under which none of the scenarios that break without one does, or None."""
    broken = {divergence.question.scenario.name for divergence in group if not divergence.question.scenario.own}
    scenarios = [s for s in facts.asked_scenarios if s.name in broken and s.name == s.base_name]
    for kwargs in facts.switches if scenarios else []:
        if all(_holds_with(facts, scenario, appended, kwargs) for scenario in scenarios):
            return kwargs
    return None


def _settings(group: list[Divergence]) -> list[str]:
    """The kwargs of scenarios, as a user writes them."""
    return list(dict.fromkeys(setting(divergence.question.scenario.kwargs) for divergence in group))


def _holds_with(facts: TemplateFacts, scenario: Scenario, appended: Appended, kwargs: dict[str, Any]) -> bool:
    questions = facts.questions_of(scenario.with_kwargs(kwargs))
    return all(question.answered and question.holds for question in questions if question.appended is appended)


def _moved(group: list[Divergence]) -> Iterator[str]:
    """Contents of messages that stand where the renders part, and further behind in the later one."""
    for divergence in group:
        (earlier, later), at = _texts(divergence), divergence.offset
        for message in divergence.question.scenario.messages[: divergence.question.earlier]:
            content = message.get("content")
            if isinstance(content, str) and content and earlier.startswith(content, at) and content in later[at:]:
                yield content


def _texts(divergence: Divergence) -> tuple[str, str]:
    earlier, later = divergence.question.earlier_outcome.text, divergence.question.later_outcome.text
    assert earlier is not None and later is not None
    return earlier, later


def _values(divergence: Divergence) -> str:
    earlier, later = _texts(divergence)
    start = word_start(earlier, divergence.offset)
    if divergence.offset == len(later):
        return f"{shorten(earlier[start:], 28)} is gone"
    return f"{shorten(earlier[start:], 24)} becomes {shorten(later[start:], 24)}"


def _printed(facts: TemplateFacts, divergence: Divergence) -> Place | None:
    """Where the template prints the first text that does not stay."""
    question = divergence.question
    prompt = wants_generation_prompt(question.scenario, question.earlier)
    return facts.printed_at(question.scenario, question.earlier, prompt, divergence.offset)


def _because(cause: Cause | None, place: Place | None) -> str:
    if cause is None:
        unknown = "no one decision taken the other way restores the prefix"
        return "" if place is None else f"; line {place.line} prints it, and {unknown}"
    where, source = f"line {cause.place.line}", code(cause.source)
    if not cause.proven:
        return f"; suspected: {source} on {where} looks past the current message"
    more = " (with others)" if cause.kind == "combination" else ""
    if cause.moves:
        return f", because {source}, printed by {where}, moves behind what is appended{more}"
    if cause.printed:
        often = "more often" if cause.repeated else "only"
        side = "before" if cause.outcome_earlier else "after"
        return f", because {where} prints {source} {often} {side}{more}"
    return f", because {source} on {where} {_turned(cause)}{more}"


def _turned(cause: Cause) -> str:
    earlier, later = outcome_word(cause.outcome_earlier), outcome_word(cause.outcome_later)
    if cause.outcome_earlier is None:
        return f"is asked more often after, and is {later} there"
    if cause.outcome_later is None:
        return f"is asked more often before, and is {earlier} there"
    return f"turns from {earlier} to {later}"


def outcome_word(outcome: bool | None) -> str:
    """The outcome of a condition in one of two renders, for use after "is"."""
    return "not reached" if outcome is None else str(outcome).lower()


def _remedy(cause: Cause | None) -> str:
    if cause is None or not cause.proven:
        return "Decide each message's text from that message and those before it, never from what follows."
    where = f"line {cause.place.line}"
    if cause.printed:
        return f"Print what {where} prints inside the turn it belongs to, or only with add_generation_prompt."
    if cause.outcome_earlier is None:
        return f"Print the turn without asking the condition on {where} about later messages."
    value = outcome_word(cause.outcome_earlier)
    return (
        f"Make the condition on {where} independent of later messages: the model saw it {value} when the turn was last."
    )
