"""``repair()`` on small templates: each way of repairing, what is safe, what is left alone, what cannot be had."""

from __future__ import annotations

import pytest

from template_lint.facts.divergences import divergences
from template_lint.facts.prefix import Appended
from template_lint.patches.edits import Edit, add_edits, apply_edits
from template_lint.patches.proof import prove, sibling
from template_lint.patches.repair import Repair, Result, repair
from template_lint.patches.strategies.pieces import from_order
from tests.facts.helper import END, PROMPT, TOOLS, facts

ARGUMENTS = "{{ a if a is string else a | tojson }}"
CALLS = (
    "{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}[{{ c.function.name }} "
    + ARGUMENTS
    + "]{% endfor %}"
)
TURN = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}" + CALLS
STABLE = TOOLS + TURN + END
HEAD = TOOLS + "{% for m in messages %}<|{{ m.role }}|>"


def repaired(source: str) -> Repair:
    """The repair, after checking what every repair must be: proven, and nothing left to do in it."""
    result = repair(facts(source))
    assert result.result is Result.REPAIRED, result.reason
    assert result.proof is not None
    assert not any(not q.holds for q in facts(result.source).questions if q.appended.value == "tool" and q.answered)
    assert repair(facts(result.source)).source == result.source
    return result


def edits(result: Repair) -> list[tuple[int, str, str]]:
    return [(change.line, change.before, change.after) for change in result.changes]


def test_a_stable_template_is_left_alone() -> None:
    result = repair(facts(STABLE))
    assert (result.result, result.source, result.reason) == (Result.NOTHING_TO_DO, STABLE, "")


def test_a_template_without_tools_is_left_alone() -> None:
    source = "{% for m in messages %}{{ m.content }}{% if loop.last %}!{% endif %}{% endfor %}"
    assert repair(facts(source)).result is Result.NOTHING_TO_DO


def test_the_condition_takes_the_outcome_that_the_model_saw() -> None:
    source = HEAD + "{{ m.content }}" + CALLS + "{% if not loop.last %}<|end|>{% else %}</s>{% endif %}{% endfor %}"
    result = repaired(source.replace("{% if not", "{% if m.role == 'assistant' and not") + PROMPT)
    assert result.safe
    assert [after for _, _, after in edits(result)] == ["false"]


def test_only_the_term_that_looks_ahead_goes() -> None:
    think = "{% if m.role == 'assistant' and m.reasoning_content and loop.last %}[{{ m.reasoning_content }}]{% endif %}"
    result = repaired(HEAD + think + "{{ m.content }}" + CALLS + END)
    assert result.safe
    before = "m.role == 'assistant' and m.reasoning_content and loop.last"
    assert edits(result) == [(1, before, "m.role == 'assistant' and m.reasoning_content")]
    assert result.restored == ("prefix-tool",)


def test_the_condition_of_qwen3_becomes_true() -> None:
    think = "{% if loop.last or (not loop.last and m.reasoning_content) %}[{{ m.reasoning_content }}]{% endif %}"
    source = HEAD + "{% if m.role == 'assistant' %}" + think + "{% endif %}{{ m.content }}" + CALLS + END
    assert [after for _, _, after in edits(repaired(source))] == ["true"]


def test_what_was_assigned_from_a_look_ahead() -> None:
    source = (
        HEAD + "{% set last = m.role == 'assistant' and loop.index == messages | length %}"
        "{% if last %}[!]{% endif %}{{ m.content }}" + CALLS + END
    )
    result = repaired(source)
    assert result.safe
    assert edits(result) == [
        (1, "m.role == 'assistant' and loop.index == messages | length", "m.role == 'assistant'"),
    ]


def test_a_trailing_terminator_moves_into_the_turn() -> None:
    turn = "{% if m.role == 'assistant' %}<|assistant|>{{ m.content }}" + CALLS + "<|end|>"
    other = "{% else %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    last = "{% if add_generation_prompt %}<|assistant|>{% else %}</s>{% endif %}"
    result = repaired(TOOLS + "{% for m in messages %}" + turn + other + last)
    assert result.safe
    assert "<|end|></s>{% else %}<|{{ m.role }}|>" in result.source


def test_a_generation_prompt_that_is_always_there_is_unsafe() -> None:
    result = repaired(TOOLS + TURN + "<|end|>{% endfor %}{{ '<|assistant|>' }}")
    assert edits(result) == [(1, "", " if add_generation_prompt")]
    assert not result.safe
    assert result.altered[0].startswith("as-last fails in one-call")
    assert repair(facts(TOOLS + TURN + "<|end|>{% endfor %}{{ '<|assistant|>' }}"), unsafe=False).result is (
        Result.UNREPAIRED
    )


def test_the_turn_before_what_answers_it() -> None:
    results = "{% for r in messages[loop.index:] if r.role == 'tool' %}<|tool|>{{ r.content }}{% endfor %}"
    source = TOOLS + "{% for m in messages if m.role != 'tool' %}<|{{ m.role }}|>" + CALLS + results + "{{ m.content }}"
    template = facts(source + "{% endfor %}" + PROMPT)
    causes = [d.cause for d in divergences(template, Appended.TOOL) if d.cause is not None]
    texts = [apply_edits(template.source, c.edits) for cause in causes for c in from_order(template, cause)]
    assert any("{{ m.content }}" + results in text for text in texts)


def test_null_content_and_string_arguments_come_along() -> None:
    calls = "{% for c in m.tool_calls or [] %}[{{ c.function.name + ' ' + c.function.arguments|tojson }}]{% endfor %}"
    source = HEAD + "{{ m.content + '' }}" + calls + "{% if m.role == 'assistant' and loop.last %}!{% endif %}" + END
    result = repaired(source)
    assert set(result.restored) == {"prefix-tool", "null-content", "arguments"}
    assert "{{ (m.content or '') + '' }}" in result.source
    assert "c.function.arguments if c.function.arguments is string else c.function.arguments|tojson" in result.source


def test_a_delta_that_depends_on_history_and_changes_what_the_model_reads() -> None:
    source = HEAD + "{% if m.role == 'tool' and not loop.index > 4 %}<|first|>{% endif %}{{ m.content }}" + CALLS + END
    result = repair(facts(source))
    assert (result.result, result.remaining) == (Result.UNREPAIRED, ("delta-history",))
    assert "delta-history: what restores it breaks another law: as-last fails in " in result.reason


def test_what_cannot_be_had_is_said() -> None:
    source = TOOLS + "{{ messages | length }}" + TURN + END
    result = repair(facts(source))
    assert result.result is Result.UNREPAIRED
    assert result.source == source
    assert result.remaining == ("prefix-tool",)
    assert "prefix-tool: no edit that was tried restores it" in result.reason


def test_no_repair_loses_a_message() -> None:
    loop = "{% for m in messages %}{% if not (m.role == 'tool' and loop.index < messages | length) %}"
    turn = "<|{{ m.role }}|>{{ m.content }}" + CALLS + "{% if m.role == 'assistant' and loop.last %}!{% endif %}<|end|>"
    before = facts(TOOLS + loop + turn + "{% endif %}{% endfor %}" + PROMPT)
    after = facts(repair(before).source)
    scenario = next(s for s in before.scenarios if s.name == "one-call")
    assert "tide 12:04" in (before.render_scenario(scenario, 3, True).text or "")
    assert "tide 12:04" in (after.render_scenario(scenario, 3, True).text or "")


def test_the_proof_is_that_of_the_result() -> None:
    source = HEAD + "{{ m.content }}{% if m.role == 'assistant' and loop.last %}!{% endif %}" + CALLS + END
    result = repaired(source)
    original = facts(source)
    assert result.proof is not None
    assert prove(original, sibling(original, result.source)).ok


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_edits_are_in_offsets_of_normalised_newlines(newline: str) -> None:
    assert apply_edits(f"a{newline}b{newline}c", [Edit(2, 3, "X"), Edit(4, 4, "Y")]) == f"a{newline}X{newline}Yc"


def test_edits_add_up() -> None:
    original = "one two three"
    first = [Edit(4, 7, "2")]
    middle = apply_edits(original, first)
    for later in ([Edit(0, 3, "1")], [Edit(6, 11, "3")], [Edit(4, 5, "zwei")], [Edit(2, 8, "")], [Edit(5, 5, "!")]):
        combined = add_edits(first, later, middle)
        assert apply_edits(original, combined) == apply_edits(middle, later), later
