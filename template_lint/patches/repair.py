"""``repair()``: from the proven cause of a rewritten prefix to a template that does not rewrite it, with the proof.

The search is greedy. Of the candidates for the causes there are, the first that breaks no law and brings the template
nearer to the goal is taken; then the causes of what is left are looked for again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended, Question, wants_generation_prompt
from template_lint.patches.edits import Change, Edit, add_edits, apply_edits, changes_of
from template_lint.patches.goals import GOALS, Distance, Goal
from template_lint.patches.proof import Expectation, Proof, default_expectation, prove, sibling
from template_lint.patches.strategies import Candidate

MOST_STEPS = 6
MOST_CANDIDATES = 300
MAY_BE_UNSAFE = frozenset({"as-last", "unchanged", "generation-prompt", "delta-history"})
_DONE: Distance = (0, 0)
_ENDLESS: Distance = (1 << 30, 0)


class Result(enum.Enum):
    """How a repair came out."""

    NOTHING_TO_DO = "nothing-to-do"
    REPAIRED = "repaired"
    UNREPAIRED = "unrepaired"


class Repair(NamedTuple):
    """A repaired template, or why there is none.

    ``source`` is the new text (the old one where nothing was changed), ``changes`` are its edits in places of the
    original and ``what`` says what they do. ``restored`` are the laws that the original fails and the result holds,
    ``remaining`` those that it still fails. ``altered`` says, for a repair that is not safe, which first prompts and
    turns as last are no longer the original's. ``reason`` says why there is no repair.
    """

    result: Result
    source: str
    changes: tuple[Change, ...] = ()
    what: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    proof: Proof | None = None
    reason: str = ""

    @property
    def safe(self) -> bool:
        """Whether every first prompt and every turn as last is as the original renders it."""
        return not self.altered


class _State(NamedTuple):
    """A template on the way: its edits in offsets of the original."""

    facts: TemplateFacts
    edits: tuple[Edit, ...] = ()
    what: tuple[str, ...] = ()


def repair(facts: TemplateFacts, *, unsafe: bool = True) -> Repair:
    """Repair what keeps a template from being used for training, and what is easily repaired with it.

    With ``unsafe`` a repair that alters turns as last is offered where there is no safe one: the one that alters
    least.
    """
    if not facts.tool_rules_apply:
        reason = "the template knows no tools" if facts.source.strip() else "the template is empty"
        return Repair(Result.NOTHING_TO_DO, facts.source, reason=reason)
    search = _Search(facts)
    state = _State(facts)
    failed: list[str] = []
    for goal in GOALS:
        distance = goal.distance(facts, state.facts)
        if facts.stopped:
            break
        if distance == _DONE:
            continue
        failed.append(goal.law)
        reached = search.reach(goal, state)
        if reached is None and goal.law == "prefix-tool":
            reached = search.reach_with(goal, GOALS[2], state)
            if reached is None and unsafe:
                reached = search.reach(goal, state, unsafe=True)
        if reached is not None:
            state = reached
            search.must_hold(goal.law, state)
    if facts.stopped:
        name, outcome = facts.stopped[0]
        return Repair(Result.UNREPAIRED, facts.source, reason=f"rendering {name} had to be stopped: {outcome.message}")
    return search.report(state, failed)


class _Search:
    """The candidates tried for one original.

    ``laws`` are those that must hold, ``excused`` the scenarios in which a law already fails by an earlier unsafe
    step.
    """

    def __init__(self, original: TemplateFacts) -> None:
        self.original = original
        self.laws = default_expectation(original).laws - {"prefix-tool"}
        # A system message that is printed at the beginning rewrites all: nothing can be said of what it adds.
        self.rewritten = frozenset(q.scenario.name for q in original.answered(Appended.SYSTEM) if not q.holds)
        self.excused: dict[str, frozenset[str]] = {"as-last": self.rewritten}
        self.restored: list[str] = []
        self.closest: dict[str, str] = {}
        self._distances: dict[tuple[str, str], tuple[TemplateFacts, Distance]] = {}

    def must_hold(self, law: str, state: _State) -> None:
        """From now on this law must hold too, and what an unsafe step has altered is excused."""
        self.restored.append(law)
        self.laws |= {law}
        results = prove(self.original, state.facts, expect=Expectation(laws=self.laws)).results
        altered = {name: frozenset(results[name].scenarios) for name in self.laws if results[name].first}
        self.excused = {**altered, "as-last": self.rewritten | altered.get("as-last", frozenset())}

    def reach(self, goal: Goal, state: _State, *, unsafe: bool = False) -> _State | None:
        """The state in which the goal holds too, or None."""
        distance = goal.distance(self.original, state.facts)
        for _ in range(MOST_STEPS):
            step = self._least_altering(goal, state, distance) if unsafe else self._first(goal, state, distance)
            if step is None:
                return None
            state, distance = step
            if distance == _DONE:
                return state
        return None

    def reach_with(self, goal: Goal, other: Goal, state: _State) -> _State | None:
        """As ``reach``, by a way on which the law of ``other`` is broken and restored again."""
        if other.law not in self.laws:
            return None
        laws = self.laws
        self.laws = laws - {other.law}
        reached = self.reach(goal, state)
        self.laws = laws | {goal.law}
        reached = self.reach(other, reached) if reached is not None else None
        self.laws = laws
        return reached

    def _first(self, goal: Goal, state: _State, distance: Distance) -> tuple[_State, Distance] | None:
        """The first candidate that breaks no law and is nearer to the goal."""
        for candidate, trial, there in self._nearer(goal, state, distance):
            if self._breaks(goal, trial, there):
                continue
            if candidate.reducible:
                candidate, trial, there = self._reduced(goal, state, candidate, trial, there)
            return _after(state, candidate, trial), there
        return None

    def _least_altering(self, goal: Goal, state: _State, distance: Distance) -> tuple[_State, Distance] | None:
        """The nearest candidate that breaks only what an unsafe repair may break, in the fewest scenarios."""
        best: tuple[Distance, int] | None = None
        step = None
        for candidate, trial, there in self._nearer(goal, state, distance):
            if (best is not None and there > best[0]) or _loses_words(self.original, trial):
                continue
            results = prove(self.original, trial, expect=Expectation(laws=self.laws)).results
            broken = {
                law: len(result.scenarios) for law, result in results.items() if law in self.laws and result.first
            }
            if broken.keys() <= MAY_BE_UNSAFE and (best is None or (there, sum(broken.values())) < best):
                best = there, sum(broken.values())
                step = _after(state, candidate, trial), there
        return step

    def _nearer(
        self, goal: Goal, state: _State, distance: Distance
    ) -> Iterator[tuple[Candidate, TemplateFacts, Distance]]:
        """The candidates that bring the template nearer to the goal, each text once."""
        seen: set[str] = set()
        failing = _failing(state.facts) if goal.law == "prefix-tool" else []
        for candidate in goal.candidates(state.facts):
            source = apply_edits(state.facts.source, candidate.edits)
            if source in seen:
                continue
            seen.add(source)
            if len(seen) > MOST_CANDIDATES:
                return
            trial, there = self._judge(goal, source, failing)
            if there < distance and trial.compile_error is None:
                yield candidate, trial, there

    def _judge(self, goal: Goal, source: str, failing: Sequence[Question] = ()) -> tuple[TemplateFacts, Distance]:
        """The facts of a candidate and its distance: endless where it does not compile or changes no failing text."""
        key = goal.law, source
        if key not in self._distances:
            trial = sibling(self.original, source)
            idle = trial.compile_error is not None or (failing and not any(_differs(q, trial) for q in failing))
            self._distances[key] = trial, _ENDLESS if idle else goal.distance(self.original, trial)
        return self._distances[key]

    def _breaks(self, goal: Goal, trial: TemplateFacts, there: Distance) -> bool:
        """Whether a law breaks that must hold; what would otherwise do is remembered as the reason."""
        expect = Expectation(laws=self.laws)
        proof = prove(self.original, trial, expect=expect, stop_at_first=not any(self.excused.values()))
        broken = self._problems(proof, self.excused)
        if broken and there == _DONE:
            self.closest.setdefault(goal.law, broken[0])
        return bool(broken)

    def _problems(self, proof: Proof, excused: dict[str, frozenset[str]]) -> tuple[str, ...]:
        """What a proof says of the laws that must hold, but for the scenarios that are excused."""
        broken = [
            law
            for law, result in proof.results.items()
            if law in self.laws and not set(result.scenarios) <= excused.get(law, frozenset())
        ]
        return tuple(problem for problem in proof.problems if problem.partition(" ")[0] in broken)

    def _reduced(
        self, goal: Goal, state: _State, candidate: Candidate, trial: TemplateFacts, there: Distance
    ) -> tuple[Candidate, TemplateFacts, Distance]:
        """Leave out, one by one, the edits that are not needed."""
        for edit in candidate.edits:
            fewer = candidate._replace(edits=tuple(other for other in candidate.edits if other is not edit))
            if fewer.edits:
                smaller, reached = self._judge(goal, apply_edits(state.facts.source, fewer.edits))
                if reached <= there and smaller.compile_error is None and not self._breaks(goal, smaller, reached):
                    candidate, trial, there = fewer, smaller, reached
        return candidate, trial, there

    def report(self, state: _State, failed: list[str]) -> Repair:
        """The state as a result, with the whole proof."""
        remaining = tuple(law for law in failed if law not in self.restored)
        required = [goal.law for goal in GOALS if goal.required and goal.law in remaining]
        reason = "; ".join(self._reason(law) for law in remaining)
        if not state.edits or "prefix-tool" in required:
            result = Result.UNREPAIRED if required else Result.NOTHING_TO_DO
            return Repair(result, self.original.source, remaining=remaining, reason=reason)
        proof = prove(self.original, state.facts, expect=Expectation(laws=self.laws))
        return Repair(
            Result.REPAIRED,
            state.facts.source,
            changes_of(self.original.source, state.edits),
            state.what,
            tuple(self.restored),
            remaining,
            self._problems(proof, {"as-last": self.rewritten}),
            proof,
            reason,
        )

    def _reason(self, law: str) -> str:
        closest = self.closest.get(law)
        if closest is None:
            return f"{law}: no edit that was tried restores it"
        return f"{law}: what restores it breaks another law: {closest}"


def _failing(facts: TemplateFacts) -> list[Question]:
    return [question for question in facts.answered(Appended.TOOL) if not question.holds]


def _differs(question: Question, trial: TemplateFacts) -> bool:
    """Whether a candidate renders either side of a question otherwise."""
    scenario = question.scenario
    return any(
        trial.render_scenario(scenario, count, wants_generation_prompt(scenario, count)) != outcome
        for count, outcome in (
            (question.earlier, question.earlier_outcome),
            (question.later, question.later_outcome),
        )
    )


def _after(state: _State, candidate: Candidate, trial: TemplateFacts) -> _State:
    edits = add_edits(state.edits, candidate.edits, state.facts.template.source_map.text)
    return _State(trial, tuple(edits), (*state.what, candidate.what))


def _loses_words(original: TemplateFacts, candidate: TemplateFacts) -> bool:
    """Whether a message's content or a call's name that the original prints is gone."""
    for scenario in original.scenarios:
        count = len(scenario.messages)
        prompt = wants_generation_prompt(scenario, count)
        before = original.render_scenario(scenario, count, prompt).text
        if before is None:
            continue
        after = candidate.render_scenario(scenario, count, prompt).text
        words = [message["content"] for message in scenario.messages if isinstance(message.get("content"), str)]
        words += [c["function"]["name"] for message in scenario.messages for c in message.get("tool_calls") or ()]
        if after is None or any(before.count(word) > after.count(word) for word in words if word):
            return True
    return False
