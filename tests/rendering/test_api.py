"""``template_lint.render``: what users call."""

from __future__ import annotations

from typing import Any

import pytest

import template_lint
from template_lint.errors import TemplateLintError, UsageError
from template_lint.rendering.api import RenderError, outcome_of, render
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate

USER = {"role": "user", "content": "Hi"}
REPLY = {"role": "assistant", "content": "Yo"}
CHAT = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}\n"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_render() -> None:
    done = template_lint.render(
        CHAT, [USER], add_generation_prompt=True, transformers="5.24", special_tokens={"bos_token": "<s>"}
    )
    assert done.text == "<s><user>Hi</s><assistant>"
    assert (done.generation_spans, done.lines, done.branches) == ([], [], [])


def test_template_kwargs_win_over_special_tokens() -> None:
    done = render("{{ bos_token }}{{ x }}", [USER], special_tokens={"bos_token": "<s>", "x": 1}, x=2)
    assert done.text == "<s>2"


def test_tools_and_documents_reach_the_template() -> None:
    done = render(
        "{{ tools|length }}{{ documents[0].t }}", [USER], tools=[{"type": "function"}], documents=[{"t": "T"}]
    )
    assert done.text == "1T"
    assert render("{{ tools is none }}{{ tools is defined }}", [USER]).text == "TrueTrue"


def test_the_version_matters() -> None:
    message = {"role": "user", "content": None}
    assert render("{{ messages[0].content is defined }}", [message], transformers="4.57").text == "True"
    assert render("{{ messages[0].content is defined }}", [message], transformers="5.24").text == "False"


def test_trace_gives_lines_and_branches() -> None:
    done = render(CHAT, [USER, REPLY], trace=True, transformers="5.24", special_tokens={"bos_token": "<s>"})
    assert [tuple(piece) for piece in done.lines] == [
        (0, 3, 1, 4), (3, 4, 1, 39), (4, 8, 1, 43), (8, 9, 1, 52), (9, 11, 1, 56), (11, 15, 1, 68),
        (15, 16, 1, 39), (16, 25, 1, 43), (25, 26, 1, 52), (26, 28, 1, 56), (28, 32, 1, 68),
    ]  # fmt: skip
    assert [tuple(branch) for branch in done.branches] == [(2, 7, "add_generation_prompt", False)]
    assert done.lines[-1].end == len(done.text)


def test_generation_spans() -> None:
    source = "{% for m in messages %}<{% generation %}{{ m.content }}{% endgeneration %}>{% endfor %}"
    done = render(source, [USER, REPLY])
    assert done.generation_spans == [(1, 3), (5, 7)]


@pytest.mark.parametrize(
    ("source", "error", "line", "refused"),
    [
        ("{{ raise_exception('no') }}", "TemplateError", 1, True),
        ("\n{{ messages[0].a.b }}", "UndefinedError", 2, False),
        ("\n\n{{ messages.append(1) }}", "SecurityError", 3, False),
        ("{% if %}", "TemplateSyntaxError", 1, False),
        ("{{ 'a' + 1 }}", "TypeError", 1, False),
        ("\n{{ 1 / 0 }}", "ZeroDivisionError", 2, False),
        ("{% for m in messages %}\n{{ m.content.x() }}{% endfor %}", "UndefinedError", 2, False),
        ("{% macro f() %}\n{{ nothing.x }}\n{% endmacro %}\n{{ f() }}", "UndefinedError", 2, False),
        ("{% macro f() %}\n{{ f() }}\n{% endmacro %}\n{{ f() }}", "RecursionError", 4, False),
    ],
)
def test_a_template_that_raises(source: str, error: str, line: int, refused: bool) -> None:
    with pytest.raises(RenderError) as caught:
        render(source, [USER], transformers="5.24")
    assert (caught.value.error, caught.value.line, caught.value.refused) == (error, line, refused)
    assert isinstance(caught.value, TemplateLintError)
    assert caught.value.kind == "render"
    assert f"{error}: " in str(caught.value)
    assert f"(template line {line})" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"messages": []}, "ValueError"),
        ({"messages": ["x"]}, "TypeError"),
        ({"messages": [USER], "tools": [print]}, "ValueError"),
        ({"messages": [USER], "documents": ["x"]}, "TypeError"),
        ({"messages": [REPLY], "continue_final_message": True, "add_generation_prompt": True}, "ValueError"),
        ({"messages": [{"role": "assistant"}], "continue_final_message": True}, "ValueError"),
        ({"messages": [REPLY], "continue_final_message": "nowhere"}, "ValueError"),
    ],
)
def test_what_apply_chat_template_refuses_itself(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(RenderError) as caught:
        render(CHAT, transformers="5.24", **arguments)
    assert (caught.value.error, caught.value.line) == (error, None)


def test_an_unknown_version_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a version"):
        render(CHAT, [USER], transformers="newest")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Yo", "<user>Hi</s><assistant>Yo"),
        ("Yo ", "<user>Hi</s><assistant>Yo "),
        ("Yo\n", "<user>Hi</s><assistant>Yo\n"),
    ],
)
def test_continue_final_message(content: str, expected: str) -> None:
    for version in ("4.57", "5.24"):
        done = render(CHAT, [USER, {**REPLY, "content": content}], continue_final_message=True, transformers=version)
        assert done.text == expected


def test_continue_final_message_where_the_template_trims() -> None:
    source = "{% for m in messages %}<{{ m.content|trim }}>{% endfor %}"
    done = render(source, [USER, {**REPLY, "content": "Yo "}], continue_final_message=True, transformers="5.24")
    assert done.text == "<Hi><Yo"


def test_continue_final_message_of_a_template_that_drops_it() -> None:
    source = "{% for m in messages[:1] %}{{ m.content }}{% endfor %}"
    with pytest.raises(RenderError, match="does not appear"):
        render(source, [USER, REPLY], continue_final_message=True, transformers="5.24")


def test_continue_a_named_field() -> None:
    source = "{% for m in messages %}<{{ m.reasoning_content }}|{{ m.content }}>{% endfor %}"
    done = render(
        source,
        [USER, {"role": "assistant", "reasoning_content": "Hm", "content": "x"}],
        continue_final_message="reasoning_content",
        transformers="5.24",
    )
    assert done.text == "<|Hi><Hm"


def test_continue_text_blocks() -> None:
    source = "{% for m in messages %}{% for b in m.content %}[{{ b.text }}]{% endfor %}{% endfor %}"
    message = {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert render(source, [message], continue_final_message=True, transformers="5.24").text == "[a][b"
    assert message["content"][1] == {"type": "text", "text": "b"}  # type: ignore[index]


def test_outcome_of_never_raises() -> None:
    template = ChatTemplate("{{ messages[0].x }}", parse_profile("4.57"))
    for messages in ([], None, [None], 3, [{"x": object()}]):
        outcome = outcome_of(template, messages)  # type: ignore[arg-type]
        assert outcome.ok or outcome.error


def test_a_template_object_is_pure() -> None:
    template = ChatTemplate(
        "{% set n = namespace(c=0) %}{% for m in messages %}{% set n.c = n.c + 1 %}{% endfor %}{{ n.c }}",
        parse_profile("5.24"),
    )
    assert [outcome_of(template, [USER] * count).text for count in (3, 1, 3)] == ["3", "1", "3"]
