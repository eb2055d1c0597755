"""TL205: the template crashes on a shape that servers send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, CALL, TOOL, TOOL_RESULT
from template_lint.facts.shapes import Shape
from template_lint.model import Finding, Severity
from template_lint.rendering.template import Outcome
from template_lint.rules.base import Rule, Skip
from template_lint.rules.places import line_place


class _ShapeCase(NamedTuple):
    title: str
    messages: list[dict[str, Any]]
    serious: bool


class ValidShapeCrash(Rule):
    """The template crashes on a message shape that OpenAI-compatible servers send.

    What: the same tool conversation with content null, without a content key, with arguments as a JSON string and as a
    mapping, with ``tool_calls: []``, without the tool's name, with typed text parts. A crash is an exception that the
    template did not raise itself; its own ``raise_exception`` is a documented limit, and no finding here.

    Why it matters: the shape that reaches the template is decided by the server and its version, not by you. The other
    rules go on with a shape that the template accepts.

    How to fix: test before use: ``is string``, ``is mapping``, ``is defined``, ``message.get('content')``.
    """

    code = "TL205"
    name = "valid-shape-crash"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try every shape; one finding per place and exception. Then the user's own conversations."""
        yield from self._own(facts)
        if facts.tool_rules_apply:
            yield from self._shapes(facts)

    def _own(self, facts: TemplateFacts) -> Iterator[Finding]:
        for scenario in facts.conversations:
            outcome = facts.render_scenario(scenario, len(scenario.messages), False)
            if not outcome.ok:
                yield self.finding(
                    facts,
                    f"your conversation {scenario.name!r} does not render: {outcome.error}: {outcome.message[:100]}",
                    remedy="Bring it into a shape that the template accepts, or repair the template.",
                    place=line_place(facts, outcome.line),
                    scenario=scenario.name,
                    evidence={"error": outcome.error},
                )

    def _shapes(self, facts: TemplateFacts) -> Iterator[Finding]:
        outcomes = [
            (case, facts.render(case.messages, tools=[TOOL], generation_prompt=True)) for case in _cases(facts.shape)
        ]
        if not any(outcome.ok for _, outcome in outcomes):
            first = outcomes[0][1]
            raise Skip(f"no shape of a tool conversation renders: {first.error}: {first.message[:120]}")
        crashes: dict[tuple[str | None, int | None], list[tuple[_ShapeCase, Outcome]]] = {}
        for case, outcome in outcomes:
            if not outcome.ok and not outcome.refused:
                crashes.setdefault((outcome.error, outcome.line), []).append((case, outcome))
        for group in crashes.values():
            outcome = group[0][1]
            serious = any(case.serious for case, _ in group)
            yield self.finding(
                facts,
                f"{outcome.error} on {', on '.join(case.title for case, _ in group)}: {outcome.message[:100]}",
                remedy="Test the value before use: is string, is mapping, is defined.",
                place=line_place(facts, outcome.line),
                severity=Severity.ERROR if serious else Severity.WARNING,
                evidence={"error": outcome.error, "shapes": [case.title for case, _ in group]},
            )


def _cases(accepted: Shape) -> list[_ShapeCase]:
    """The shapes; what is not the case's own subject is in the shape that the template accepts."""
    call = CALL["tool_calls"][0]
    (usual,) = accepted.apply([CALL])
    function = call["function"]
    as_string = {**call, "function": {**function, "arguments": json.dumps(function["arguments"])}}
    no_content = {key: value for key, value in usual.items() if key != "content"}
    unnamed = {key: value for key, value in TOOL_RESULT.items() if key != "name"}
    reply = {"role": "assistant", "content": "zqreply"}
    parts = [{"type": "text", "text": "zqquestion"}]
    return [
        _ShapeCase("arguments as a mapping", [ASK, {**usual, "tool_calls": CALL["tool_calls"]}, TOOL_RESULT], False),
        _ShapeCase("content null beside a call", [ASK, {**usual, "content": None}, TOOL_RESULT], True),
        _ShapeCase("no content key beside a call", [ASK, no_content, TOOL_RESULT], True),
        _ShapeCase("arguments as a JSON string", [ASK, {**usual, "tool_calls": [as_string]}, TOOL_RESULT], True),
        _ShapeCase("tool_calls: []", [ASK, {**reply, "tool_calls": []}, ASK], True),
        _ShapeCase("a tool result without a name", [ASK, usual, unnamed], False),
        _ShapeCase("content as typed text parts", [{**ASK, "content": parts}], False),
    ]
