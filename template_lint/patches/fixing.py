"""``fix()``: the training template of the library where there is one, else a repair; markers where asked for."""

from __future__ import annotations

from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.patches.edits import Change
from template_lint.patches.goals import GOALS
from template_lint.patches.index import Entry, read_source
from template_lint.patches.markers import insert_markers
from template_lint.patches.matching import match_behaviour, match_source
from template_lint.patches.proof import Expectation, Proof, Status, default_expectation, prove, sibling
from template_lint.patches.repair import Repair, Result, repair
from template_lint.patches.training import obsolete
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS


class Fix(NamedTuple):
    """What can be done for a template. ``origin`` is ``library``, ``repair`` or None, where ``source`` is the old text.

    ``laws`` are the laws that could be asked of the new text, each with how it came out; ``what``, ``changes``,
    ``restored``, ``remaining``, ``altered`` and ``reason`` are those of Repair. ``blocked`` are laws without which the
    template should not be used for training.
    """

    origin: str | None
    source: str
    name: str | None = None
    what: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    restored: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    laws: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def safe(self) -> bool:
        """Whether every first prompt and every turn as last is as the original renders it."""
        return not self.altered


def fix(facts: TemplateFacts, *, markers: bool = False) -> Fix:
    """The best fix there is for a template that compiles. Renders it many times: for a worker."""
    best = _best(facts, markers=markers)
    gone = obsolete(facts)
    if gone is None:
        return best
    note = f"the library's {gone} is no longer needed: this model's template has become right by itself"
    return best._replace(reason="; ".join(part for part in (best.reason, note) if part))


def _best(facts: TemplateFacts, *, markers: bool) -> Fix:
    needs_repair = facts.tool_rules_apply and any(
        goal.required and goal.distance(facts, facts) != (0, 0) for goal in GOALS
    )
    found = None
    if needs_repair or (markers and not facts.static.has_generation_tag):
        matched = match_source(facts.source)
        entry = matched[0] if matched else match_behaviour(facts)
        if entry is not None and read_source(entry.name) != facts.source:
            found = _from_library(facts, entry)
    if found is not None and found.safe:
        return found
    repaired = repair(facts)
    if found is not None and (repaired.result is Result.UNREPAIRED or not repaired.safe):
        return found
    marked = insert_markers(sibling(facts, repaired.source)) if markers else None
    return _from_repair(facts, repaired, marked)


def _from_library(facts: TemplateFacts, entry: Entry) -> Fix:
    source = read_source(entry.name)
    if facts.variables == PLACEHOLDER_TOKENS:  # a template alone: the entry knows the special tokens of its family
        tokens = {**facts.variables, **entry.special_tokens}
        facts = TemplateFacts(facts.source, facts.profile, name=facts.name, variables=tokens)
    proof = prove(facts, sibling(facts, source), expect=entry.expectation(facts.profile), forgive_missing=True)
    return Fix(
        "library",
        source,
        name=entry.name,
        what=(
            *[f"{item.kind}: {item.sentence}" for item in entry.fixes],
            *[f"differs as listed: {sentence}" for sentence in _listed(proof)],
        ),
        restored=tuple(item.kind for item in entry.fixes),
        altered=proof.problems,
        laws=_laws(proof),
    )


def _listed(proof: Proof) -> list[str]:
    """The differences from the original that the library lists and that do occur."""
    occurred = [difference.sentence for result in proof.results.values() for difference in result.occurred]
    return list(dict.fromkeys(occurred))


def _from_repair(facts: TemplateFacts, repaired: Repair, marked: Repair | None) -> Fix:
    source = marked.source if marked is not None else repaired.source
    parts = [part for part in (repaired, marked) if part is not None]
    remaining = tuple(law for part in parts for law in part.remaining)
    changed = source != facts.source
    laws = default_expectation(facts).laws | {law for part in parts for law in part.restored}
    proof = prove(facts, sibling(facts, source), expect=Expectation(laws=laws)) if changed else None
    return Fix(
        "repair" if changed else None,
        source,
        what=tuple(what for part in parts for what in part.what),
        changes=repaired.changes,
        restored=tuple(law for part in parts for law in part.restored),
        remaining=remaining,
        blocked=tuple(
            [goal.law for goal in GOALS if goal.required and goal.law in repaired.remaining]
            + (["mask"] if marked is not None and marked.result is Result.UNREPAIRED else [])
            + (["render"] if repaired.result is Result.UNREPAIRED and not repaired.remaining else [])
        ),
        altered=repaired.altered,
        laws=_laws(proof) if proof is not None else (),
        reason="; ".join(part.reason for part in parts if part.reason),
    )


def _laws(proof: Proof) -> tuple[tuple[str, str], ...]:
    asked = {name: result.status for name, result in proof.results.items()}
    return tuple((name, status.value) for name, status in asked.items() if status is not Status.NOT_APPLICABLE)
