"""``{% generation %}``: spans, their oddities, and the mask over tokens."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.rendering.masks import token_mask
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate

P457, P524 = parse_profile("4.57"), parse_profile("5.24")
MESSAGES = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yo 🎉"},
    {"role": "user", "content": "Bye"},
    {"role": "assistant", "content": "é"},
]
CHAT = (
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}"
    "{% generation %}{{ m.content }}</s>{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
)


def spans(source: str, profile: Any = P524, messages: list[dict[str, Any]] = MESSAGES) -> list[str]:
    """What the spans cut out of the text."""
    outcome, found = ChatTemplate(source, profile).render_with_spans({"messages": messages})
    assert outcome.text is not None
    return [outcome.text[start:end] for start, end in found]


def test_spans_cut_out_what_the_model_wrote() -> None:
    for profile in (P457, P524):
        assert spans(CHAT, profile) == ["Yo 🎉</s>", "é</s>"]
    outcome, found = ChatTemplate(CHAT, P524).render_with_spans({"messages": MESSAGES})
    assert outcome.text == "<user>Hi<assistant>Yo 🎉</s><user>Bye<assistant>é</s>"
    assert found == [(19, 27), (47, 52)]


def test_the_plain_render_is_the_same_text() -> None:
    template = ChatTemplate(CHAT, P524)
    assert template.render({"messages": MESSAGES}) == template.render_with_spans({"messages": MESSAGES})[0]


def test_a_span_at_the_beginning_is_lost_by_4_57() -> None:
    source = "{% generation %}ab{% endgeneration %}c{% generation %}d{% endgeneration %}"
    assert spans(source, P524) == ["ab", "d"]
    assert spans(source, P457) == ["d"]


def test_an_empty_span() -> None:
    source = "a{% generation %}{% endgeneration %}b"
    for profile in (P457, P524):
        assert ChatTemplate(source, profile).render_with_spans({})[1] == [(1, 1)]


def test_set_inside_does_not_leak_and_namespace_does() -> None:
    source = (
        "{% set n = namespace(v=0) %}{% set x = 0 %}{% for m in [1] %}{% generation %}{% set x = m %}{% set n.v = m %}"
        "{{ x }}{% endgeneration %}{{ x }}{{ n.v }}{% endfor %}"
    )
    outcome, _ = ChatTemplate(source, P524).render_with_spans({})
    assert outcome.text == "101"


@pytest.mark.parametrize("word", ["break", "continue"])
def test_loop_controls_inside_do_not_compile(word: str) -> None:
    source = f"{{% for m in messages %}}{{% generation %}}{{% {word} %}}{{% endgeneration %}}{{% endfor %}}"
    assert ChatTemplate(source, P524).render({"messages": []}).error == "SyntaxError"


@pytest.mark.parametrize(
    "source",
    [
        "abc{% macro f() %}x{% generation %}g{% endgeneration %}{% endmacro %}{{ f() }}",
        "abc{% set y %}x{% generation %}g{% endgeneration %}{% endset %}{{ y }}",
        "abc{% filter upper %}x{% generation %}g{% endgeneration %}{% endfilter %}",
    ],
)
def test_inside_a_macro_or_a_block_the_start_is_that_of_the_statement(source: str) -> None:
    # Both versions: what the enclosing block has buffered is not counted. Mirrored, not repaired.
    for profile in (P457, P524):
        assert ChatTemplate(source, profile).render_with_spans({})[1] == [(3, 4)]


def test_a_failed_render_has_no_spans() -> None:
    source = "a{% generation %}b{% endgeneration %}{{ raise_exception('no') }}"
    template = ChatTemplate(source, P524)
    outcome, found = template.render_with_spans({})
    assert (outcome.error, found) == ("TemplateError", [])
    # The next render starts afresh.
    assert template.render_with_spans({})[1] == []


OFFSETS = [(0, 2), (2, 5), (5, 6), (5, 6), (6, 9)]  # the third character group is one emoji of two tokens


@pytest.mark.parametrize(
    ("spans", "expected_5", "expected_4"),
    [
        ([(2, 5)], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0]),
        ([(3, 4)], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0]),
        ([(2, 6)], [0, 1, 1, 1, 0], [0, 1, 1, 0, 0]),  # 4.57 leaves out the emoji's second token
        ([(0, 2)], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]),  # 4.57 takes token 0 for none
        ([(6, 9)], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]),
        ([(2, 12)], [0, 1, 1, 1, 1], [0, 1, 1, 1, 1]),  # the end is past the last token
        ([(2, 3), (6, 7)], [0, 1, 0, 0, 1], [0, 1, 0, 0, 1]),
        ([(3, 3)], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0]),  # an empty span inside a token masks it
        ([(20, 22), (2, 3)], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),  # 4.57 stops at the first span that is out of bounds
        ([], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
    ],
)
def test_token_mask(spans: list[tuple[int, int]], expected_5: list[int], expected_4: list[int]) -> None:
    assert token_mask(spans, OFFSETS, P524) == expected_5
    assert token_mask(spans, OFFSETS, P457) == expected_4


def test_mask_of_nothing() -> None:
    assert token_mask([(0, 3)], [], P524) == []
    assert token_mask([(0, 3)], [], P457) == []
