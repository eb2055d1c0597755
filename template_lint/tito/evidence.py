"""What checks are made of: the question with its answer, the played conversations, the first place of a difference."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from template_lint.facts.prefix import Appended
from template_lint.rendering.api import RenderError
from template_lint.tito.buffer import Buffer
from template_lint.tito.deltas import first_difference, token_at
from template_lint.tito.engines import Engine
from template_lint.tito.simulate import Script, play

_HISTORY = "Use a template that renders history the same whatever follows (template-lint check shows the line)."
REMEDIES = {
    "TL101": _HISTORY,
    "TL102": "End the assistant's turn with a special token, so that no token spans the border.",
    "TL103": "Begin a finished turn with exactly the text of the generation prompt, and leave history alone.",
    "TL104": "Start a new trajectory at every user turn, or use a template that keeps history.",
    "TL105": "Send system messages first only.",
    "TL106": "The delta depends on what came before: use a template that renders each tool result alike.",
    "TL205": "Use a template that renders it.",
    "TL402": "Open {% generation %} right behind the generation prompt and close it behind the stop token.",
}
"""Rule code -> what to do about it."""


class Status(StrEnum):
    """How a check ended."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    SKIPPED = "skipped"


class Check(NamedTuple):
    """One question and its answer.

    ``message`` has the values that show a failure, how much was compared, or why nothing was. ``rule`` is the code of
    the rule that explains a failure, where there is one.
    """

    name: str
    status: Status
    message: str
    rule: str = ""
    remedy: str = ""
    evidence: dict[str, Any] = {}  # noqa: RUF012  (nobody mutates it)


class Rollouts(NamedTuple):
    """Everything the checks look at: the scripts of one template and the buffers of canonical samplers.

    ``markers`` has, for each script, the ``{% generation %}`` mask of its last render, None where there is none.
    """

    engine: Engine
    scripts: list[Script]
    buffers: list[Buffer]
    markers: list[list[int] | None]
    tools_matter: bool

    def bad(self, kind: Appended) -> Status:
        """How bad it is if a delta of one kind is wrong: a loop lives on tool results, or else on user messages."""
        needed = Appended.TOOL if self.tools_matter else Appended.USER
        return Status.FAIL if kind is needed else Status.WARN


def prepare(engine: Engine, scripts: Sequence[Script], *, tools_matter: bool) -> Rollouts:
    """Render what the checks need. ``tools_matter``: the template knows tools, so that user turns are not all there
    is.
    """
    return Rollouts(
        engine,
        list(scripts),
        [play(script) for script in scripts],
        [_markers(engine, s) for s in scripts],
        tools_matter,
    )


def _markers(engine: Engine, script: Script) -> list[int] | None:
    last = script.turns[-1] if script.turns else None
    if last is None:
        return None
    try:
        return engine.generation_mask(last.messages, tools=script.scenario.tools, kwargs=script.scenario.kwargs)
    except RenderError:
        return None


class Clash(NamedTuple):
    """The first step after which buffer and full render differ, in words and as data."""

    step: int
    words: str
    evidence: dict[str, Any]


def first_clash(engine: Engine, script: Script, buffer: Buffer) -> Clash | None:
    """Compare a canonical buffer with the full render after every step; None where they never differ."""
    for index, (turn, step) in enumerate(zip(buffer.turns, script.steps, strict=True)):
        got, full = buffer.ids[: turn.end], step.full_ids
        if got == full or (step.appended is Appended.ASSISTANT and _finished_alike(engine, script, index, got)):
            continue
        at = first_difference(got, full)
        tokens = pair(engine, got, full, at, "buffer", "render")
        words = f"buffer and full render part at token {at}: {words_of(tokens, 'buffer', 'render')}"
        evidence = {"scenario": script.scenario.name, "messages": len(step.messages), "position": at, **tokens}
        return Clash(index, words, evidence)
    return None


def _finished_alike(engine: Engine, script: Script, index: int, got: list[int]) -> bool:
    """Whether a render that ends with the assistant's turn says what the buffer says.

    Behind the stop token it may have white space, which the next delta brings; and it lacks a stop token that is the
    role token of the next message.
    """
    full = script.steps[index].full_ids
    following = script.steps[index + 1].delta if index + 1 < len(script.steps) else None
    if following is not None and [*full, following.stop_id] == got:
        return True
    return full[: len(got)] == got and not engine.decode(full[len(got) :]).strip()


def pair(
    engine: Engine, first: Sequence[int], second: Sequence[int], at: int, *names: str
) -> dict[str, dict[str, Any]]:
    """The tokens of two sequences at one index, as data under two names."""
    return {name: token_at(engine, ids, at) for name, ids in zip(names, (first, second), strict=True)}


def words_of(tokens: dict[str, dict[str, Any]], first: str, second: str) -> str:
    """Two tokens of ``pair`` in words."""
    return " against ".join(f"{tokens[name]['text']!r} ({tokens[name]['id']})" for name in (first, second))
