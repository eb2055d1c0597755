"""The capability card of a template in words: what an engineer asks before a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from template_lint.model import TemplateReport
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.wording import outcome

_RETENTION = {
    "all": "stays in history",
    "tool_cycle": "stays until the next user turn",
    "none": "is dropped from history",
}


def card_rows(template: TemplateReport) -> list[tuple[str, str]]:
    """(what, answer) in a fixed order; empty where the template could not be asked."""
    card = template.capabilities
    return [(name, text) for name, text in _rows(card, template) if text] if card else []


def card_lines(template: TemplateReport, canvas: Canvas) -> list[str]:
    """The card as lines of a text report."""
    rows = card_rows(template)
    wide = max((len(name) for name, _ in rows), default=0)
    lines = [line for name, text in rows for line in canvas.hang(f"  {name:<{wide}}  ", text)]
    return [canvas.paint("what it can render", "bold"), *lines] if lines else []


def _rows(card: dict[str, Any], template: TemplateReport) -> Iterator[tuple[str, str]]:
    yield "tool schemas", _yes(card["tools"])
    yield "tool calls", _yes(card["tool_calls"]) + _shapes(card["call_shapes"])
    yield "tool results", _yes(card["tool_results"])
    yield "parallel calls", _yes(card["parallel_tool_calls"])
    yield "call ids", _ids(card["call_ids"])
    yield "system message", _yes(card["system"])
    yield "developer message", _yes(card["developer"])
    yield "reasoning", _reasoning(card)
    for effect in card["switch_effects"]:
        yield f"{visible(effect['switch'])}={outcome(effect['value'])}", _effect(effect)
    yield "template kwargs", ", ".join(map(visible, card["template_kwargs"])) or "none"
    yield "generation markers", _yes(card["generation_markers"])
    if template.verdict.tito == "stable-with-kwargs":
        settings = ", ".join(f"{visible(k)}={outcome(v)}" for k, v in sorted(template.verdict.kwargs.items()))
        yield "stable with", settings


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _shapes(shapes: list[dict[str, str]]) -> str:
    if not shapes:
        return ""
    arguments = " or ".join(
        dict.fromkeys({"mapping": "a mapping", "string": "a string"}[s["arguments"]] for s in shapes)
    )
    empty = "" if any(shape["empty"] == "absent" for shape in shapes) else "; the content key must be there"
    return f"; arguments as {arguments}{empty}"


def _ids(ids: dict[str, Any]) -> str:
    shown = "in the prompt" if ids["in_prompt"] else "not in the prompt"
    refused = ids["refused"]
    if refused is None:
        return shown
    return f"{shown}; refuses one of {refused['length']} characters: {visible(refused['message'])}"


def _reasoning(card: dict[str, Any]) -> str:
    if not card["reasoning"]:
        return "no"
    keys = ", ".join(map(visible, card["reasoning_keys"])) or "in the text"
    return f"{keys}; {_RETENTION.get(card['reasoning_retention'], 'unknown')}"


def _effect(effect: dict[str, Any]) -> str:
    changed = [name for name in ("prompt", "history") if effect[f"changes_{name}"]]
    end = visible(effect["prompt_ends"], backslash=True)[-40:]
    return (
        f"changes the {' and the '.join(changed)}; the prompt ends with …{end}" if changed else "changes nothing here"
    )
