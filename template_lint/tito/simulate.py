"""Plays conversations as token-in-token-out loops: prompt, sampled turn, delta, sampled turn, ...

No model is needed: what it would say is taken from the template's own rendering of the turn. A script is the part that
is the same for every sampler; ``play`` grows a buffer from it with the token ids that one sampler emits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.facts.prefix import Appended, appended_kind, common_prefix_length
from template_lint.rendering.api import RenderError
from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.scenarios.model import Scenario
from template_lint.tito.buffer import Buffer
from template_lint.tito.deltas import Delta, DeltaError, between, delta, turn_end
from template_lint.tito.engines import Engine, Messages
from template_lint.tito.policy import Policy, score

MOST_TURNS = 12
_THOUGHT = "Let me see."


class Step(NamedTuple):
    """One growth of the buffer.

    ``appended`` is ASSISTANT for a sampled turn, OTHER for the first prompt, else the kind of the delta. ``messages``
    are those the buffer stands for afterwards, ``text`` and ``full_ids`` their render (with generation prompt unless
    the model spoke last). ``ids`` are what a sampler that cuts text as the tokenizer does adds. ``delta`` comes from
    the dummy conversation, ``real`` from this conversation (or why there is none). ``rewrites`` says that a finished
    turn is rendered together with other text before it than the model was given.
    """

    appended: Appended
    messages: Messages
    text: str
    full_ids: list[int]
    ids: list[int]
    delta: Delta | None = None
    real: Delta | DeltaError | None = None
    rewrites: bool = False


class Problem(NamedTuple):
    """Why a script ends before its conversation does. ``rule`` is empty where no rule speaks about it."""

    appended: Appended
    rule: str
    reason: str
    evidence: Mapping[str, Any] = {}


class Script(NamedTuple):
    """A conversation as the steps of a loop; ``problem`` is None where it could be played to its end."""

    scenario: Scenario
    steps: list[Step]
    problem: Problem | None

    @property
    def turns(self) -> list[Step]:
        """The sampled turns."""
        return [step for step in self.steps if step.appended is Appended.ASSISTANT]


class Playwright:
    """Writes scripts for one engine; deltas are remembered, since many conversations append the same messages."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._deltas: dict[str, Delta | DeltaError] = {}

    def write(self, scenario: Scenario) -> Script:
        """The script of a conversation, as far as it can be played."""
        steps: list[Step] = []
        try:
            for step in self._steps(scenario):
                steps.append(step)
        except _Ends as end:
            return Script(scenario, steps, end.problem)
        return Script(scenario, steps, None)

    def _steps(self, scenario: Scenario) -> Iterator[Step]:
        messages = list(scenario.messages)
        turns = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
        first = turns[0] if turns else len(messages)
        prompt = self._render(scenario, messages[:first], Appended.OTHER, prompt=True)
        step = Step(Appended.OTHER, messages[:first], prompt, self._engine.ids(prompt), self._engine.ids(prompt))
        yield step
        ends = [*turns[1:], len(messages)]
        for turn, following in zip(turns[:MOST_TURNS], ends, strict=False):
            if turn + 1 == following < len(messages):
                raise _Ends(Appended.ASSISTANT, "", "the assistant speaks twice in a row")
            said = self._turn(scenario, messages, turn, step)
            if not said.ids:
                raise _Ends(Appended.ASSISTANT, "TL201", "the template renders nothing of the assistant's turn")
            if turn + 1 == following:
                yield said
                return
            kind = appended_kind(scenario, turn + 1, following)
            prompt = self._render(scenario, messages[:following], kind, prompt=True)
            found = self._delta(scenario, messages[:following], following - turn - 1)
            if isinstance(found, DeltaError):
                yield said
                raise _Ends(kind, found.rule, found.what, found.evidence)
            if found.stop_id is not None and said.ids[-1:] != [found.stop_id]:
                # The turn ends where the next message begins: its role token is what the model emits to stop.
                said = said._replace(ids=[*said.ids, found.stop_id])
            yield said
            try:
                real: Delta | DeltaError = between(self._engine, said.text, prompt, kind)
            except DeltaError as error:
                real = error
            step = Step(kind, messages[:following], prompt, self._engine.ids(prompt), found.ids, found, real)
            yield step

    def _turn(self, scenario: Scenario, messages: list[Any], turn: int, before: Step) -> Step:
        """The assistant's turn after ``before``, in a form that its generation prompt allows.

        A prompt that opens a thinking block wants a thought, one that closes it wants none; a reply in the other form
        may still begin with the prompt's text, but not with its ids.
        """
        possible: list[tuple[dict[str, Any], str]] = []
        for reply in _forms(messages[turn]):
            try:
                finished = self._engine.render([*messages[:turn], reply], tools=scenario.tools, kwargs=scenario.kwargs)
            except RenderError:
                continue
            if finished.startswith(before.text):
                possible.append((reply, finished))
        if not possible:
            return self._turn_of_another_prompt(scenario, messages, turn, before)
        exact = (pair for pair in possible if self._engine.ids(pair[1])[: len(before.full_ids)] == before.full_ids)
        messages[turn], finished = next(exact, possible[0])
        return self._said(messages[: turn + 1], finished, len(before.text))

    def _turn_of_another_prompt(self, scenario: Scenario, messages: list[Any], turn: int, before: Step) -> Step:
        """The turn where its finished form never begins with the generation prompt, or rewrites history."""
        finished = self._render(scenario, messages[: turn + 1], Appended.ASSISTANT)
        history = self._render(scenario, messages[:turn], Appended.ASSISTANT)
        opening = before.text.removeprefix(history)
        if finished.startswith(history):
            at = common_prefix_length(before.text, finished)
            found = at > len(history)
        else:
            at = finished.rfind(opening) + len(opening)
            found = bool(opening) and opening != before.text and opening in finished
        if not found:
            raise _Ends(Appended.ASSISTANT, "TL103", "the finished turn does not begin with its generation prompt")
        said = self._said(messages[: turn + 1], finished, at)
        return said._replace(rewrites=not finished.startswith(history))

    def _said(self, messages: Messages, finished: str, start: int) -> Step:
        """The step of a turn that begins at character ``start`` of the finished conversation."""
        ids, before = self._engine.ids(finished), self._engine.ids(finished[:start])
        said = ids[len(before) :] if ids[: len(before)] == before else self._engine.ids(finished[start:])
        return Step(Appended.ASSISTANT, messages, finished, ids, said[: turn_end(self._engine, said)])

    def _render(self, scenario: Scenario, messages: Messages, kind: Appended, *, prompt: bool = False) -> str:
        try:
            return self._engine.render(
                messages, tools=scenario.tools, add_generation_prompt=prompt, kwargs=scenario.kwargs
            )
        except RenderError as error:
            rule = "TL211" if error.refused else "TL205"
            raise _Ends(kind, rule, str(error)) from error

    def _delta(self, scenario: Scenario, messages: Messages, count: int) -> Delta | DeltaError:
        calls = [message.get("tool_calls") for message in messages[:-count]]
        key = repr((messages[-count:], calls, scenario.tools, scenario.kwargs))
        if key not in self._deltas:
            try:
                self._deltas[key] = delta(
                    self._engine, messages, tools=scenario.tools, appended=count, **scenario.kwargs
                )
            except DeltaError as error:
                self._deltas[key] = error
        return self._deltas[key]


class _Ends(Exception):
    """Nothing more of a conversation can be played."""

    def __init__(self, appended: Appended, rule: str, reason: str, evidence: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.problem = Problem(appended, rule, reason, evidence or {})


def _forms(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The turn as written; then without its reasoning, or with some: a prompt that opens a thinking block wants it."""
    plain = {key: value for key, value in reply.items() if key not in REASONING_FIELDS}
    return [dict(reply), plain if plain != reply else {**reply, "reasoning_content": _THOUGHT}]


Sampler = Callable[[int, Step], Sequence[int]]
"""(number of the turn, its step) -> the ids that the model emits."""


def canonical(_number: int, step: Step) -> Sequence[int]:
    """A model that cuts its text as the tokenizer would."""
    return step.ids


def play(script: Script, sampler: Sampler = canonical, *, policy: Policy | None = None) -> Buffer:
    """The buffer of one rollout. With a ``policy`` it holds the log-probability of each sampled token."""
    buffer = Buffer()
    sampled: Sequence[int] = ()
    number = 0
    for step in script.steps:
        if step.appended is Appended.ASSISTANT:
            sampled = sampler(number, step)
            number += 1
            logprobs = score(policy, sampled, buffer.ids[-1] if buffer.ids else None) if policy else None
            buffer.extend(sampled, sampled=True, logprobs=logprobs)
        elif step.delta is not None:
            buffer.extend(step.delta.after(sampled).ids, sampled=False, kind=step.appended.value)
        else:
            buffer.extend(step.ids, sampled=False)
    return buffer
