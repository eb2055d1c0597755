"""The two templates of a proof: the original, whose renders are shared by all candidates, and one candidate."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.delta import delta_differences
from template_lint.facts.mode import holds_in_its_mode
from template_lint.facts.prefix import Appended, Question, common_prefix_length, wants_generation_prompt
from template_lint.scenarios.model import Scenario

_BEFORE, _AFTER = 40, 60


class NotApplicable(Exception):
    """A law cannot be asked of this pair; the message is the reason."""


class Counterexample(NamedTuple):
    """Where a law fails: in the first ``messages`` messages of ``scenario``, at code point (for ids: token) ``offset``.

    ``expected`` and ``found`` are excerpts around that place; ``detail`` says what was compared. ``texts`` are both
    texts whole, where a render was compared with the original's.
    """

    scenario: str
    messages: int
    offset: int
    expected: str
    found: str
    detail: str
    texts: tuple[str, str] | None = None


class Step(NamedTuple):
    """The messages that one cut of a scenario adds to the cut before. Counts of messages, as in the scenario."""

    scenario: Scenario
    earlier: int
    later: int

    @property
    def appends_reply(self) -> bool:
        """Whether the last message is the assistant's."""
        return bool(self.scenario.messages[self.later - 1].get("role") == "assistant")

    @property
    def fresh(self) -> bool:
        """Whether no assistant turn comes before."""
        return not has_reply(self.scenario, self.earlier)


def has_reply(scenario: Scenario, count: int) -> bool:
    """Whether an assistant turn is among the first ``count`` messages."""
    return any(message.get("role") == "assistant" for message in scenario.messages[:count])


def sibling(original: TemplateFacts, source: str) -> TemplateFacts:
    """Facts of another template text under the profile, special tokens, tokenizer and scenarios of the original."""
    facts = TemplateFacts(
        source,
        original.profile,
        variables=original.variables,
        tokenization=None if original.tokenization is None else lambda: original.tokenization,  # type: ignore[arg-type,return-value]
        no_tokenizer=original.no_tokenizer,
    )
    return _with_scenarios_of(original, facts)


def _with_scenarios_of(original: TemplateFacts, facts: TemplateFacts) -> TemplateFacts:
    facts.shape = original.shape
    facts.scenarios = original.scenarios
    facts.inline_tags = original.inline_tags
    facts.asked_scenarios = original.asked_scenarios
    return facts


class Original:
    """What a proof needs of the original, computed once however many candidates there are."""

    def __init__(self, facts: TemplateFacts) -> None:
        # Weak: the memo lives as long as the facts, and must not keep them alive.
        self._facts = weakref.ref(facts)
        self.scenarios = facts.asked_scenarios

    @property
    def facts(self) -> TemplateFacts:
        """The original's facts, which whoever asks holds."""
        facts = self._facts()
        assert facts is not None
        return facts

    @cached_property
    def steps(self) -> list[Step]:
        """Every neighbouring pair of cuts, each conversation once."""
        seen: set[Any] = set()
        found = []
        for scenario in self.scenarios:
            for earlier, later in zip(scenario.cuts, scenario.cuts[1:], strict=False):
                key = (tuple(map(id, scenario.messages[:later])), earlier, id(scenario.tools), repr(scenario.kwargs))
                if key not in seen:
                    seen.add(key)
                    found.append(Step(scenario, earlier, later))
        return found

    @cached_property
    def doubtful_first(self) -> list[Scenario]:
        """The scenarios, those where a tool question fails first: most candidates that fail, fail there."""
        wrong = {q.scenario.name for q in self.facts.answered(Appended.TOOL) if not q.holds}
        return sorted(self.scenarios, key=lambda scenario: scenario.name not in wrong)

    @cached_property
    def consistent_counts(self) -> dict[str, list[int]]:
        """Scenario name -> the cuts up to which every question holds, replies in their mode and deltas included."""
        wrong = {(d.question.scenario.name, d.question.later) for d in delta_differences(self.facts)[0]}
        consistent: dict[str, list[int]] = {}
        for scenario in self.scenarios:
            counts = []
            for question in self.facts.questions_of(scenario):
                if not question.answered or (scenario.name, question.later) in wrong:
                    break
                reply = question.appended is Appended.ASSISTANT
                if not question.holds and not (reply and holds_in_its_mode(self.facts, question)):
                    break
                counts += [question.earlier, question.later]
            consistent[scenario.name] = sorted(set(counts))
        return consistent


_ORIGINALS: weakref.WeakKeyDictionary[TemplateFacts, Original] = weakref.WeakKeyDictionary()


def original_of(facts: TemplateFacts) -> Original:
    """The memo of these facts: one for as long as they live."""
    if facts not in _ORIGINALS:
        _ORIGINALS[facts] = Original(facts)
    return _ORIGINALS[facts]


class Pair:
    """One proof's question: is ``candidate`` a drop-in for the original, with these appended roles stable.

    ``facts`` are those of the original, ``original`` its memo. A candidate that has other scenarios than the original
    is taken by its source.
    """

    def __init__(self, facts: TemplateFacts, candidate: TemplateFacts, stable_roles: frozenset[str]) -> None:
        if candidate is not facts and candidate.__dict__.get("scenarios") is not facts.scenarios:
            candidate = sibling(facts, candidate.source)
        self.facts = facts
        self.original = original_of(facts)
        self.candidate = candidate
        self.stable_roles = stable_roles
        self._spans: dict[Any, tuple[str | None, list[tuple[int, int]]]] = {}

    def questions(self) -> Iterator[Question]:
        """The candidate's prefix questions; those of scenarios where the original fails come first."""
        for scenario in self.original.doubtful_first:
            yield from self.candidate.questions_of(scenario)

    def marked(self, scenario: Scenario, count: int) -> tuple[str | None, list[tuple[int, int]]]:
        """The candidate's text of a history (no generation prompt), and the spans that ``{% generation %}`` marks."""
        key = tuple(map(id, scenario.messages[:count])), id(scenario.tools), repr(scenario.kwargs)
        if key not in self._spans:
            context = self.candidate.scenario_context(scenario, count, False)
            outcome, spans = self.candidate.template.render_with_spans(context)
            self._spans[key] = outcome.text, spans
        return self._spans[key]

    def texts(self, scenario: Scenario, count: int, prompt: bool | None = None) -> tuple[str | None, str | None]:
        """Original's and candidate's render of the first ``count`` messages.

        ``prompt`` None: with the generation prompt where the conversation waits for the model.
        """
        wanted = wants_generation_prompt(scenario, count) if prompt is None else prompt
        return (
            self.facts.render_scenario(scenario, count, wanted).text,
            self.candidate.render_scenario(scenario, count, wanted).text,
        )


def differing(
    scenario: Scenario, count: int, expected: str | None, found: str | None, detail: str
) -> Iterator[Counterexample]:
    """A counterexample where the two texts differ; nothing where they are equal, or nothing was expected."""
    if expected is None or expected == found:
        return
    if found is None:
        yield Counterexample(scenario.name, count, 0, expected[:_AFTER], "", f"{detail}: does not render")
        return
    at = common_prefix_length(expected, found)
    yield Counterexample(scenario.name, count, at, excerpt(expected, at), excerpt(found, at), detail, (expected, found))


def excerpt(text: str, at: int) -> str:
    """Some characters before and after a place; the rest of the text is left out without a sign."""
    return text[max(0, at - _BEFORE) : at + _AFTER]


def rest_after(earlier: str | None, later: str | None) -> str | None:
    """What ``later`` has more than ``earlier``; None where it does not begin with it."""
    if earlier is None or later is None or not later.startswith(earlier):
        return None
    return later[len(earlier) :]
