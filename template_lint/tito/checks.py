"""What must hold for a token-in-token-out loop, asked of played conversations. Each check says where it first fails.

A check that fails makes the buffer wrong. One that warns does not, but somebody may be surprised by it. One that had
nothing to ask is skipped, which is never the same as passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from template_lint.facts.prefix import Appended
from template_lint.tito.buffer import Buffer
from template_lint.tito.deltas import Delta, DeltaError, delta, first_difference
from template_lint.tito.evidence import REMEDIES, Check, Rollouts, Status, first_clash, pair, words_of
from template_lint.tito.simulate import Script, Step
from template_lint.tito.token_checks import (
    mask_of_markers,
    mask_on_sampled,
    odd_endings,
    one_bos,
    round_trip,
    stop_token,
)

_REFUSALS = frozenset({"TL200", "TL211"})


def run_checks(rollouts: Rollouts) -> list[Check]:
    """Every check but those of alternative segmentations, in the order of a report."""
    checks: list[Callable[[Rollouts], Check]] = [
        lambda r: buffer_after(r, Appended.TOOL),
        lambda r: buffer_after(r, Appended.USER),
        lambda r: buffer_after(r, Appended.SYSTEM),
        finished_turns,
        delta_from_dummy,
        real_names,
        mask_on_sampled,
        mask_of_markers,
        one_bos,
        stop_token,
        odd_endings,
        round_trip,
    ]
    return [check(rollouts) for check in checks]


_Failure = tuple[str, str, dict[str, Any]]  # rule, what happens, evidence


def buffer_after(rollouts: Rollouts, kind: Appended) -> Check:
    """After appended messages of one kind, the buffer is the ids of the full render."""
    name = f"buffer-after-{kind.value}"
    compared = 0
    refused: list[str] = []
    failures: list[tuple[str, _Failure]] = []
    for script, buffer in zip(rollouts.scripts, rollouts.buffers, strict=True):
        held, failure = _compare_after(rollouts, kind, script, buffer)
        compared += held
        problem = script.problem
        if failure is None and problem is not None and problem.appended is kind:
            if problem.rule in _REFUSALS:
                refused.append(f"{problem.rule}: {problem.reason}")
            else:
                failure = problem.rule, problem.reason, {**problem.evidence}
        if failure is not None:
            failures.append((script.scenario.name, failure))
    if failures:
        scenario, (rule, words, evidence) = failures[0]
        message = f"{words}, in {scenario} ({len(failures)} of {compared + len(failures)} fail)"
        evidence = {"scenario": scenario, **evidence, "scenarios": [name for name, _ in failures]}
        return Check(name, rollouts.bad(kind), message, rule, REMEDIES.get(rule, ""), evidence)
    if not compared:
        return Check(name, Status.SKIPPED, refused[0] if refused else "no conversation appends one")
    return Check(name, Status.PASS, f"{compared} compared")


def _compare_after(rollouts: Rollouts, kind: Appended, script: Script, buffer: Buffer) -> tuple[int, _Failure | None]:
    """How many messages of one kind were appended rightly in a script, and what the first wrong one does."""
    clash = first_clash(rollouts.engine, script, buffer)
    held = 0
    for index, step in enumerate(script.steps):
        if step.appended is not kind:
            continue
        failure = None
        if clash is not None and clash.step == index:
            rule = step.real.rule if isinstance(step.real, DeltaError) else "TL106"
            failure = rule, clash.words, clash.evidence
        elif clash is not None and clash.step < index:
            # The buffer already differs for another reason: what is left to ask is the delta.
            failure = _wrong_delta(rollouts, step)
        if failure is not None:
            return held, failure
        held += 1
    return held, None


def _wrong_delta(rollouts: Rollouts, step: Step) -> _Failure | None:
    if isinstance(step.real, DeltaError):
        return step.real.rule, step.real.what, step.real.evidence
    difference = _difference(rollouts, step)
    return None if difference is None else ("TL106", difference[0], difference[1])


def _difference(rollouts: Rollouts, step: Step) -> tuple[str, dict[str, Any]] | None:
    """Where the delta of the dummy conversation and the real one differ, in words and as data."""
    assert step.delta is not None and isinstance(step.real, Delta)
    dummy, real = [*_stop(step.delta), *step.delta.ids], [*_stop(step.real), *step.real.ids]
    if dummy == real:
        return None
    at = first_difference(dummy, real)
    tokens = pair(rollouts.engine, dummy, real, at, "dummy", "real")
    words = f"the delta differs at its token {at}: {words_of(tokens, 'dummy', 'real')}"
    return words, {"position": at, **tokens}


def finished_turns(rollouts: Rollouts) -> Check:
    """A prompt and the turn sampled after it are what the finished conversation renders to."""
    compared = 0
    for script, buffer in zip(rollouts.scripts, rollouts.buffers, strict=True):
        clash = first_clash(rollouts.engine, script, buffer)
        compared += sum(step.appended is Appended.ASSISTANT for step in script.steps)
        if clash is not None and script.steps[clash.step].appended is Appended.ASSISTANT:
            rewrites = script.steps[clash.step].rewrites
            rule = "TL104" if rewrites else "TL103"
            what = "the finished turn changes how history is rendered" if rewrites else "the finished turn differs"
            message = f"{what}: {clash.words}, in {script.scenario.name}"
            return Check("finished-turns", Status.WARN, message, rule, REMEDIES["TL103"], clash.evidence)
    problem = next(
        (s.problem for s in rollouts.scripts if s.problem and s.problem.appended is Appended.ASSISTANT), None
    )
    if problem is not None and problem.rule == "TL103":
        return Check("finished-turns", Status.WARN, problem.reason, problem.rule, REMEDIES["TL103"])
    if not compared:
        return Check("finished-turns", Status.SKIPPED, problem.reason if problem else "no turn could be played")
    return Check("finished-turns", Status.PASS, f"{compared} compared")


def delta_from_dummy(rollouts: Rollouts) -> Check:
    """The delta of the dummy conversation is that of the real one, in every round."""
    name = "delta-from-dummy"
    compared = 0
    found: list[Check] = []
    for script in rollouts.scripts:
        for number, step in enumerate([step for step in script.steps if step.delta is not None], 1):
            if not isinstance(step.real, Delta):
                continue
            compared += 1
            difference = _difference(rollouts, step)
            if difference is not None:
                words, evidence = difference
                message = f"delta {number} of {script.scenario.name}: {words}"
                evidence = {"scenario": script.scenario.name, "delta": number, **evidence}
                bad = rollouts.bad(step.appended)
                found.append(Check(name, bad, message, "TL106", REMEDIES["TL106"], evidence))
    if found:
        return next((check for check in found if check.status is Status.FAIL), found[0])
    if not compared:
        return Check(name, Status.SKIPPED, "no delta could be computed from a real conversation")
    return Check(name, Status.PASS, f"{compared} compared")


def _stop(found: Delta) -> list[int]:
    return [] if found.stop_id is None else [found.stop_id]


def real_names(rollouts: Rollouts) -> Check:
    """Whether the delta needs the real tool name and call id. A warning: with a placeholder it would be wrong."""
    name = "placeholder-names"
    for script in rollouts.scripts:
        for step in script.steps:
            if step.appended is not Appended.TOOL or step.delta is None:
                continue
            start = next(i for i in range(len(step.messages), 0, -1) if step.messages[i - 1]["role"] == "assistant")
            results = step.messages[start:]
            parts = []
            for part, key, value in (
                ("the tool's name", "name", "dummy"),
                ("the call's id", "tool_call_id", "dummyId00"),
            ):
                renamed = [{**result, key: value} for result in results]
                try:
                    other = delta(rollouts.engine, renamed, tools=script.scenario.tools, **script.scenario.kwargs)
                except DeltaError:
                    continue
                if other.ids != step.delta.ids:
                    parts.append(part)
            if not parts:
                return Check(name, Status.PASS, "the delta contains neither the tool's name nor the call's id")
            message = f"the delta contains {' and '.join(parts)}: one computed with a placeholder is wrong"
            remedy = "Give every tool message its real name and tool_call_id, as delta() here does."
            return Check(name, Status.WARN, message, "TL107", remedy, {"depends_on": parts, "delta": step.delta.text})
    return Check(name, Status.SKIPPED, "no tool delta could be computed")
