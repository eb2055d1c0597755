"""The plain turn, the balance of marks, and the spans that a turn should have, on small templates."""

from __future__ import annotations

from typing import Any

from template_lint.facts.balance import imbalances
from template_lint.facts.masks import displaced_tags, ends_in_white_space, joined, marked_turns
from template_lint.facts.turn import plain_turn
from template_lint.rendering.profiles import parse_profile
from tests.facts.helper import STABLE, facts

MARKED = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|end|>"
    "{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_the_plain_turn() -> None:
    turn = plain_turn(facts(STABLE))
    assert turn is not None
    assert turn.text[: turn.reply_end].endswith("<|assistant|>zqreply")
    assert (turn.last.marks, turn.last.glue) == (["<|end|>"], "")
    assert (turn.middle, turn.opening) == ("<|end|><|user|>", "<|user|>")
    assert turn.next_header is None


def test_a_turn_that_the_next_header_ends() -> None:
    turn = plain_turn(facts("{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"))
    assert turn is not None
    assert (turn.last.marks, turn.next_header) == ([], "<|user|>")


def test_no_turn_where_the_reply_is_dropped_or_refused() -> None:
    assert plain_turn(facts("{{ messages[0].content }}")) is None
    assert plain_turn(facts("{% if messages|length > 1 %}{{ raise_exception('one') }}{% endif %}x")) is None


def test_balanced_conversations() -> None:
    assert imbalances(facts(STABLE)) == []


def test_the_end_of_text_token_may_close_a_turn() -> None:
    source = "{% for m in messages %}<|im_start|>{{ m.content }}"
    source += "{{ eos_token if m.role == 'assistant' else '<|im_end|>' }}"
    assert imbalances(facts(source + "{% endfor %}")) == []


def test_a_turn_that_is_closed_twice() -> None:
    source = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{{ '<|im_end|>' if m.role == 'assistant' }}"
    [wrong] = imbalances(facts(source + "{% endfor %}"))
    assert (wrong.kind, wrong.opener, wrong.name) == ("unopened", "<|im_start|>", "chat")
    assert wrong.text[wrong.offset :].startswith("<|im_end|><|im_start|>")


def test_a_marked_turn_begins_where_the_prompt_ends() -> None:
    turns = marked_turns(facts(MARKED))
    assert turns
    for turn in turns:
        assert turn.exact
        assert turn.marked == [(turn.start, turn.stop)]
        assert (turn.starts_right, turn.reaches_end, turn.gaps, turn.foreign) == (True, True, [], None)


def test_each_conversation_is_judged_once_and_tools_only_where_shown() -> None:
    turns = marked_turns(facts(MARKED))
    keys = [(tuple(map(id, turn.scenario.messages[: turn.length])), id(turn.scenario.tools)) for turn in turns]
    assert len(set(keys)) == len(keys)
    assert not any(m.get("tool_calls") for turn in turns for m in turn.scenario.messages[: turn.length])


def test_a_history_that_is_rewritten_is_not_judged() -> None:
    assert marked_turns(facts("{{ messages|length }}" + MARKED)) == []


def test_spans_that_touch_are_one() -> None:
    assert joined([(0, 2), (2, 2), (2, 5), (7, 9)]) == [(0, 5), (7, 9)]


def test_displaced_tags() -> None:
    tag = "{% generation %}x{% endgeneration %}"
    wrappers: dict[str, Any] = {
        "{% macro a() %}" + tag + "{% endmacro %}": 1,
        "{% set a %}" + tag + "{% endset %}": 1,
        "{% filter trim %}{% if true %}" + tag + "{% endif %}{% endfilter %}": 1,
        "{% for m in messages %}{% if true %}" + tag + "{% endif %}{% endfor %}": 0,
        "{% generation %}" + tag + "{% endgeneration %}": 1,
    }
    for source, count in wrappers.items():
        assert len(displaced_tags(facts(source))) == count, source


def test_a_turn_that_ends_in_white_space_has_no_terminator_to_tell() -> None:
    assert ends_in_white_space(facts("{% for m in messages %}{{ m.content }}\n\n{% endfor %}"))
    assert not ends_in_white_space(facts(STABLE))


def test_the_lazy_tracker_loses_a_span_at_offset_0() -> None:
    source = "{% generation %}{{ messages[0].content }}{% endgeneration %}{{ messages[1].content if messages[1] }}"
    old = facts(source)
    old.template.__init__(source, parse_profile("4.57"))  # type: ignore[misc]
    context = old.context([{"role": "user", "content": "a"}], None, {}, False)
    assert old.template.render_with_spans(context)[1] == []
    assert facts(source).template.render_with_spans(context)[1] == [(0, 1)]
