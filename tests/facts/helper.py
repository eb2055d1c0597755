"""Small templates for the tests of facts, and the facts of a source."""

from __future__ import annotations

from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.cause import Cause
from template_lint.facts.divergences import divergences
from template_lint.facts.prefix import Appended
from template_lint.rendering.profiles import parse_profile

PROFILE = parse_profile("5.24")
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}

CALLS = "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments|tojson }}]{% endfor %}"
TURN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + CALLS
PROMPT = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
END = "<|end|>{% endfor %}" + PROMPT
TOOLS = "{% if tools %}{{ tools|tojson }}{% endif %}"
STABLE = TOOLS + TURN + END
# Results are printed inside the turn of their call, before its content: the scan begins behind the turn.
SCANNED_RESULTS = (
    "{% set all = messages %}{% for m in messages if m.role != 'tool' %}<|{{ m.role }}|>" + CALLS +
    "{% if m.tool_calls %}{% for k in range(2, all|length) %}{% if all[k].role != 'tool' %}{% else %}"
    "<r>{{ all[k].name }}<c>{{ all[k].content }}</c>{{ k }}</r>{% endif %}{% endfor %}{% endif %}{{ m.content }}" + END
)  # fmt: skip


def facts(source: str, **arguments: Any) -> TemplateFacts:
    return TemplateFacts(source, PROFILE, **{"variables": VARIABLES, **arguments})


def causes(source: str, appended: Appended = Appended.TOOL, **arguments: Any) -> dict[str, Cause | None]:
    """Scenario name -> cause of its (first) divergence."""
    found: dict[str, Cause | None] = {}
    for divergence in divergences(facts(source, **arguments), appended):
        found.setdefault(divergence.question.scenario.name, divergence.cause)
    return found


def summary(cause: Cause | None) -> tuple[Any, ...]:
    """What a test asserts of a cause."""
    assert cause is not None
    return cause.kind, cause.source, cause.outcome_earlier, cause.outcome_later, cause.proven
