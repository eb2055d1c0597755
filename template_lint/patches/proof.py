"""The proof that a training template is a drop-in: every law, over scenarios, thinking modes and shapes."""

from __future__ import annotations

import enum
import hashlib
import re
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended
from template_lint.patches import consistency, drop_in, masking, writing
from template_lint.patches.pair import Counterexample, NotApplicable, Pair, sibling

__all__ = ["LAWS", "Counterexample", "Difference", "Expectation", "LawResult", "Proof", "Status", "prove", "sibling"]

Law = Callable[[Pair], Iterator[Counterexample | None]]
"""Yields None for each question it asks and a Counterexample for each that fails; raises NotApplicable."""

LAWS: dict[str, Law] = {
    "prefix-tool": consistency.prefix_of(Appended.TOOL),
    "as-last": drop_in.as_last,
    "first-prompt": drop_in.first_prompt,
    "unchanged": drop_in.unchanged,
    "generation-prompt": consistency.generation_prompt,
    "prefix-user": consistency.prefix_of(Appended.USER),
    "prefix-system": consistency.prefix_of(Appended.SYSTEM),
    "delta-history": consistency.delta_history,
    "mask": masking.mask,
    "mask-end": masking.mask_end,
    "arguments": writing.arguments,
    "null-content": writing.null_content,
    "parses-back": writing.parses_back,
    "prefix-ids": consistency.prefix_ids,
}
"""In the order in which they are asked: what breaks most candidates comes first."""

ROLES = frozenset({"tool", "user", "system"})


class Status(enum.Enum):
    """How a law came out. DIFFERS: it holds but for the differences that were expected."""

    HOLDS = "holds"
    DIFFERS = "differs"
    FAILS = "fails"
    NOT_APPLICABLE = "not-applicable"


class Difference(NamedTuple):
    """A failure that is meant: of ``law``, in scenarios that match one of ``scenarios`` (``*`` is any text).

    With ``only``, the original's text and the candidate's must be equal once these pieces (``*`` is as little text as
    there can be) are taken out of both.
    """

    law: str
    scenarios: tuple[str, ...]
    sentence: str
    only: tuple[str, ...] = ()

    def covers(self, answer: Counterexample) -> bool:
        """Whether it speaks of this counterexample."""
        patterns = [".*".join(map(re.escape, pattern.split("*"))) for pattern in self.scenarios]
        if not any(re.fullmatch(pattern, answer.scenario) for pattern in patterns):
            return False
        if not self.only:
            return True
        return answer.texts is not None and self._without(answer.texts[0]) == self._without(answer.texts[1])

    def _without(self, text: str) -> str:
        for piece in self.only:
            text = re.sub(".*?".join(map(re.escape, piece.split("*"))), "", text, flags=re.DOTALL)
        return text


class Expectation(NamedTuple):
    """What must come out: ``laws`` must hold but for ``differences``; ``not_applicable`` cannot be asked.

    ``stable_roles`` are the appended roles whose prefix must hold. A law that is in neither may come out as it will.
    """

    stable_roles: frozenset[str] = ROLES
    laws: frozenset[str] = frozenset(LAWS)
    differences: tuple[Difference, ...] = ()
    not_applicable: frozenset[str] = frozenset()


class LawResult(NamedTuple):
    """One law: how many questions were asked, where it fails first, and the names of all scenarios that fail.

    ``first`` and ``scenarios`` leave out what a listed difference covers: ``occurred`` are the differences that did
    occur, ``excused`` the scenarios in which they did. ``reason`` says why a law is not applicable.
    """

    law: str
    status: Status
    asked: int = 0
    first: Counterexample | None = None
    scenarios: tuple[str, ...] = ()
    reason: str = ""
    occurred: tuple[Difference, ...] = ()
    excused: tuple[str, ...] = ()


class Proof(NamedTuple):
    """Every law that was asked, in order, and ``problems``: what is not as expected, in sentences. None: proven."""

    original_sha256: str
    candidate_sha256: str
    profile: str
    results: dict[str, LawResult]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether everything came out as expected."""
        return not self.problems

    @property
    def safe(self) -> bool:
        """Whether every first prompt and every turn as last is as in the original, without exception."""
        return all(
            law in self.results and self.results[law].status is Status.HOLDS for law in ("first-prompt", "as-last")
        )


def prove(
    original: TemplateFacts,
    candidate: TemplateFacts,
    *,
    expect: Expectation | None = None,
    stop_at_first: bool = False,
    forgive_missing: bool = False,
) -> Proof:
    """Ask every law of ``candidate`` against ``original``.

    Make the candidate with ``sibling(original, source)``: its scenarios are then the original's. Without ``expect``,
    the candidate must hold every law that the original holds against itself, and ``prefix-tool``. With
    ``stop_at_first`` the laws after the first problem are not asked; with ``forgive_missing`` a listed difference need
    not occur, nor a law that is listed as not applicable be so. Candidates share the renders of the original.
    """
    wanted = expect or default_expectation(original)
    pair = Pair(original, candidate, wanted.stable_roles)
    results: dict[str, LawResult] = {}
    problems: list[str] = []
    error = pair.candidate.compile_error
    if error is not None:
        problems.append(f"does not compile: {error.error}: {error.message}")
    for name in LAWS if error is None else ():
        expected = tuple(difference for difference in wanted.differences if difference.law == name)
        result = results[name] = ask(name, pair, expected=expected, stop=stop_at_first and name in wanted.laws)
        problems += _failure(result, wanted)
        if not forgive_missing:
            problems += _missing(result, wanted, expected)
        if problems and stop_at_first:
            break
    return Proof(_digest(original), _digest(candidate), original.profile.label, results, tuple(problems))


_EXPECTATIONS: weakref.WeakKeyDictionary[TemplateFacts, Expectation] = weakref.WeakKeyDictionary()


def default_expectation(original: TemplateFacts) -> Expectation:
    """What any repair of this template must keep: the laws that it holds itself, and ``prefix-tool``. Memoised."""
    known = _EXPECTATIONS.get(original)
    if known is None:
        pair = Pair(original, original, ROLES)
        held = {name for name in LAWS if ask(name, pair, stop=True).status is Status.HOLDS}
        known = _EXPECTATIONS[original] = Expectation(laws=frozenset(held | {"prefix-tool"}))
    return known


def ask(name: str, pair: Pair, *, expected: tuple[Difference, ...] = (), stop: bool = False) -> LawResult:
    """Ask one law. With ``stop`` its first counterexample ends it."""
    asked = 0
    first = None
    failing: dict[str, None] = {}
    occurred: dict[Difference, None] = {}
    excused: dict[str, None] = {}
    try:
        for answer in LAWS[name](pair):
            if answer is None:
                asked += 1
                continue
            covering = [difference for difference in expected if difference.covers(answer)]
            occurred.update(dict.fromkeys(covering))
            if covering:
                excused[answer.scenario] = None
            else:
                first = first or answer
                failing[answer.scenario] = None
                if stop:
                    break
    except NotApplicable as reason:
        if first is None and not occurred:
            return LawResult(name, Status.NOT_APPLICABLE, asked, reason=str(reason))
    status = Status.FAILS if first else Status.DIFFERS if occurred else Status.HOLDS
    return LawResult(name, status, asked, first, tuple(failing), "", tuple(occurred), tuple(excused))


def _failure(result: LawResult, wanted: Expectation) -> Iterator[str]:
    if result.first is not None and result.law in wanted.laws:
        more = f" and {len(result.scenarios) - 1} more scenarios" if len(result.scenarios) > 1 else ""
        where = f"{result.first.scenario} ({result.first.messages} messages, offset {result.first.offset})"
        yield f"{result.law} fails in {where}{more}: {result.first.detail}"
    elif (
        result.status is Status.NOT_APPLICABLE and result.law in wanted.laws and not _may_be_skipped(result.law, wanted)
    ):
        yield f"{result.law} cannot be asked and is not listed as such: {result.reason}"


def _missing(result: LawResult, wanted: Expectation, expected: tuple[Difference, ...]) -> Iterator[str]:
    """What is listed and is not so."""
    if result.law in wanted.not_applicable and result.status is not Status.NOT_APPLICABLE:
        yield f"{result.law} is listed as not applicable and can be asked"
    for difference in expected:
        if difference not in result.occurred:
            yield f"{result.law}: the listed difference in {', '.join(difference.scenarios)} does not occur"


def _may_be_skipped(law: str, wanted: Expectation) -> bool:
    """What is listed; ids without a tokenizer; roles that are not said to be stable."""
    role = law.removeprefix("prefix-")
    unstable = role in ROLES and role not in wanted.stable_roles
    return law == "prefix-ids" or unstable or law in wanted.not_applicable


def _digest(facts: TemplateFacts) -> str:
    return hashlib.sha256(facts.source.encode("utf-8", "surrogatepass")).hexdigest()
