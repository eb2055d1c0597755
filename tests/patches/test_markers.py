"""``insert_markers()`` on small templates: the spans are what the model wrote, and the text stays."""

from __future__ import annotations

import re

import pytest

from template_lint.patches.markers import insert_markers
from template_lint.patches.pair import sibling
from template_lint.patches.repair import Result
from tests.facts.helper import CALLS, PROMPT, TOOLS, facts

OTHERS = "{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
LOOP = TOOLS + "{% for m in messages %}"
TEMPLATES = {
    "a statement each": LOOP
    + "{% if m.role == 'assistant' %}{{ '<|assistant|>' }}{{ m.content }}"
    + CALLS
    + "{{ '<|end|>' }}"
    + OTHERS
    + PROMPT,
    "header and reply in one expression": LOOP
    + "{% if m.role == 'assistant' %}{{ '<|assistant|>' + m.content }}"
    + CALLS
    + "{{ '<|end|>' + '\\n' }}"
    + OTHERS
    + PROMPT,
    "one expression for all roles": LOOP
    + "{{ '<|' ~ m.role ~ '|>' ~ m.content }}"
    + CALLS
    + "{{ '<|end|>' }}{% endfor %}"
    + PROMPT,
    "text of the template": LOOP
    + "<|{{ m.role }}|>\n{{ m.content }}"
    + CALLS
    + "<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>\n\n{% endif %}",
    "an inline condition": LOOP
    + "{{ ('<|assistant|>' + m.content) if m.role == 'assistant' else ('<|' + m.role + '|>' + m.content) }}"
    + CALLS
    + "<|end|>{% endfor %}"
    + PROMPT,
    "a macro": "{% macro turn(m) %}{{ m.content }}"
    + CALLS
    + "{% endmacro %}"
    + LOOP
    + "<|{{ m.role }}|>{{ turn(m) }}<|end|>{% endfor %}"
    + PROMPT,
    "a name set in the turn and used after it": LOOP
    + "{% if m.role == 'assistant' %}<|assistant|>{{ m.content }}{% set end = '<|end|>' %}"
    + CALLS
    + "{{ end }}"
    + OTHERS
    + PROMPT,
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_spans_are_what_the_model_wrote(name: str) -> None:
    source = TEMPLATES[name]
    result = insert_markers(facts(source))
    assert result.result is Result.REPAIRED, result.reason
    assert result.proof is not None
    assert result.proof.results["mask"].first is None
    original = facts(source)
    marked = sibling(original, result.source)
    scenario = next(s for s in original.scenarios if s.name == "call-with-content")
    text, spans = original.render_scenario(scenario, 2, False), None
    outcome, spans = marked.template.render_with_spans(marked.scenario_context(scenario, 2, False))
    assert outcome.text == text.text is not None
    written = "".join(outcome.text[start:end] for start, end in spans)
    assert written.startswith("Let me look that up.")
    assert written.rstrip().endswith("<|end|>")
    assert "assistant" not in written


@pytest.mark.parametrize("name", TEMPLATES)
def test_twice_changes_nothing(name: str) -> None:
    once = insert_markers(facts(TEMPLATES[name])).source
    again = insert_markers(facts(once))
    assert (again.result, again.source) == (Result.NOTHING_TO_DO, once)


def test_few_blocks_where_few_do() -> None:
    result = insert_markers(facts(TEMPLATES["a statement each"]))
    assert len(re.findall(r"\{%-? generation -?%\}", result.source)) == 1


def test_string_arguments_are_marked_like_mappings() -> None:
    call = (
        "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments|tojson }}"
    )
    calls = "{% for c in m.tool_calls or [] %}[{{ c.function.name }} " + call + "{% endif %}]{% endfor %}"
    source = LOOP + "{% if m.role == 'assistant' %}<|assistant|>{{ m.content }}" + calls + "<|end|>" + OTHERS + PROMPT
    result = insert_markers(facts(source))
    assert result.result is Result.REPAIRED
    marked = facts(result.source)
    call_message = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x", "tool_calls": [call_message]}]
    outcome, spans = marked.template.render_with_spans(marked.context(messages, None, {}, False))
    assert outcome.text is not None
    assert "".join(outcome.text[start:end] for start, end in spans) == 'x[f {"a": 1}]<|end|>'


def test_wrong_markers_are_not_moved() -> None:
    source = (
        LOOP + "{% generation %}<|{{ m.role }}|>{{ m.content }}{% endgeneration %}" + CALLS + "{% endfor %}" + PROMPT
    )
    result = insert_markers(facts(source))
    assert (result.result, result.source) == (Result.UNREPAIRED, source)
    assert "in other places" in result.reason


def test_a_text_collected_in_a_variable_cannot_be_marked() -> None:
    source = (
        TOOLS + "{% set ns = namespace(out='') %}{% for m in messages %}"
        "{% set ns.out = ns.out ~ '<|' ~ m.role ~ '|>' ~ m.content %}{% endfor %}{{ ns.out }}" + PROMPT
    )
    result = insert_markers(facts(source))
    assert result.result is Result.UNREPAIRED
    assert result.reason.startswith("mask: ")
