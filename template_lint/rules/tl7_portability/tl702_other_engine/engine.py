"""The same conversations in minijinja, bounded by its fuel. An optional extra: absent, there is nothing to compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, CALL, SYSTEM, TOOL, TOOL_RESULT
from template_lint.rendering.limits import RenderStopped

_FUEL = 2_000_000
_REPLY = {"role": "assistant", "content": "zqreply"}


class Disagreement(NamedTuple):
    """``error`` is what minijinja says where it does not render; else ``other`` is its text."""

    title: str
    jinja2: str
    other: str
    error: str


def is_installed() -> bool:
    """Whether minijinja can be imported."""
    import importlib.util

    try:
        return importlib.util.find_spec("minijinja") is not None
    except ValueError:  # somebody put None in its place
        return False


def disagreements(facts: TemplateFacts) -> Iterator[Disagreement]:
    """Conversations that Jinja2 renders and minijinja does not, or differently. Asks for minijinja."""
    environment = _environment(facts)
    for title, messages, tools in _conversations(facts):
        text = facts.render(messages, tools=tools, generation_prompt=True).text
        if text is None:
            continue
        context = facts.context(messages, tools, {}, True)
        try:
            with facts.template.limits:
                other = environment.render_str(facts.source, **context)
        except RenderStopped:
            facts.template.limits.settle()
            return
        except Exception as error:
            yield Disagreement(title, text, "", str(error).split("\n")[0][:120])
            return  # mostly the whole template: one is enough
        if other != text:
            yield Disagreement(title, text, other, "")


def _environment(facts: TemplateFacts) -> Any:
    import minijinja

    environment: Any = minijinja.Environment(trim_blocks=True, lstrip_blocks=True, fuel=_FUEL, debug=False)
    own = facts.template.environment
    environment.add_filter("tojson", own.filters["tojson"])
    environment.add_function("raise_exception", own.globals["raise_exception"])
    environment.add_function("strftime_now", own.globals["strftime_now"])
    return environment


def _conversations(facts: TemplateFacts) -> list[tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None]]:
    found: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]] | None]] = [
        ("a question", [ASK], None),
        ("a second question", [ASK, _REPLY, ASK], None),
        ("a system message", [SYSTEM, ASK], None),
        ("reasoning", [ASK, {**_REPLY, "reasoning_content": "zqreasoning"}], None),
    ]
    if facts.tool_rules_apply:
        call = facts.shape.apply([CALL])
        found += [("tools", [ASK], [TOOL]), ("a tool result", [ASK, *call, TOOL_RESULT], [TOOL])]
    return found
