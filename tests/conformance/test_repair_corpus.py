"""How much of the corpus is repaired and marked, and that a second run changes nothing. See benchmarks/repair.py."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import transformers

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended
from template_lint.patches.markers import insert_markers
from template_lint.patches.pair import sibling
from template_lint.patches.repair import Result, repair
from template_lint.rendering.profiles import parse_profile
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS
from template_lint.workers import run_jobs
from tests.inputs import corpus_dir

pytestmark = pytest.mark.skipif(
    transformers.__version__ < "5", reason="the claims are about the 5.24 profile: once is enough"
)
PROFILE = parse_profile("5.24")


def facts_of(source: str) -> TemplateFacts:
    return TemplateFacts(source, PROFILE, variables=PLACEHOLDER_TOKENS)


def breaks(facts: TemplateFacts) -> bool:
    return any(not question.holds for question in facts.answered(Appended.TOOL))


class Attempt(NamedTuple):
    """One template: whether it knows tools, whether it fails TL101, and what became of it."""

    name: str
    tools: bool
    broken: bool = False
    result: str = ""
    safe: bool = False
    source: str = ""
    holds: bool = False


def attempt(path: Path) -> Attempt:
    """Repair a template that fails TL101, in a worker."""
    facts = facts_of(path.read_text(encoding="utf-8"))
    if facts.compile_error is not None or not facts.static.reads_tools:
        return Attempt(path.name, False)
    if not breaks(facts):
        return Attempt(path.name, True)
    repaired = repair(facts)
    holds = not breaks(sibling(facts, repaired.source))
    return Attempt(path.name, True, True, repaired.result.value, repaired.safe, repaired.source, holds)


def mark(path: Path) -> str:
    """Mark what the repair gives, in a worker; the name of the result."""
    facts = facts_of(path.read_text(encoding="utf-8"))
    return insert_markers(sibling(facts, repair(facts).source)).result.value


def again(source: str) -> bool:
    """Whether a second run leaves a repaired template as it is, in a worker."""
    return repair(facts_of(source)).source == source


def nothing() -> None:
    """Workers need no preparation here."""


@pytest.fixture(scope="module")
def attempts() -> list[Attempt]:
    paths = sorted(corpus_dir().glob("*.jinja"))
    return sorted(result for _, result in run_jobs(attempt, paths, jobs=2, initializer=nothing))


def test_what_breaks_on_tool_messages_is_repaired(attempts: list[Attempt]) -> None:
    broken = [attempt for attempt in attempts if attempt.broken]
    repaired = [attempt for attempt in broken if attempt.result == "repaired"]
    assert len(broken) >= 80
    assert len(repaired) >= 0.97 * len(broken), [a.name for a in broken if a.result != "repaired"]
    assert all(attempt.holds for attempt in repaired)


def test_most_repairs_are_safe(attempts: list[Attempt]) -> None:
    broken = [attempt for attempt in attempts if attempt.broken]
    assert sum(attempt.safe for attempt in broken if attempt.result == "repaired") >= 0.74 * len(broken)


def test_the_repair_of_a_repair_is_nothing(attempts: list[Attempt]) -> None:
    sources = [attempt.source for attempt in attempts if attempt.result == Result.REPAIRED.value][::8]
    assert len(sources) > 9
    assert all(same for _, same in run_jobs(again, sources, jobs=2, initializer=nothing))


def test_most_templates_that_know_tools_are_marked(attempts: list[Attempt]) -> None:
    paths = [corpus_dir() / attempt.name for attempt in attempts if attempt.tools][::6]
    results = [result for _, result in run_jobs(mark, paths, jobs=2, initializer=nothing)]
    held = sum(result in (Result.REPAIRED.value, Result.NOTHING_TO_DO.value) for result in results)
    assert held >= 0.7 * len(results), f"{held} of {len(results)}"
