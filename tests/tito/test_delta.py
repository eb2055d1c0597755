"""The delta of appended messages, with tokenizers of transformers."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.facts.prefix import Appended
from template_lint.tito import delta
from template_lint.tito.deltas import DeltaError, turn_end
from template_lint.tito.engines import as_engine
from template_lint.tito.live_engine import TransformersEngine
from tests.tito import toy_models as toy
from tests.tito.toy_models import call, result, tokenizer

USER = {"role": "user", "content": "Go on."}


def pieces(model: Any, ids: list[int]) -> list[str]:
    return [model.decode([token_id]) for token_id in ids]


def test_the_newline_behind_the_stop_token_is_in_the_delta() -> None:
    model = tokenizer(toy.SOUND)
    found = delta(model, [result()])
    assert found.text == "\n<|start|>tool\n12:04<|end|>\n<|start|>assistant\n"
    assert model.decode(found.ids) == found.text
    assert pieces(model, found.glue) == ["\n"]
    assert pieces(model, [found.stop_id]) == ["<|end|>"]
    assert (found.stop_owner, found.appended) == ("model", Appended.TOOL)


def test_buffer_and_delta_make_the_ids_of_the_whole_render() -> None:
    model = tokenizer(toy.SOUND)
    ask = {"role": "user", "content": "When is high tide?"}
    turn = {"role": "assistant", "content": "Let me see.", "tool_calls": [call(), call("get_wind", "call00002")]}
    results = [result(), result("17 knots", "get_wind", "call00002")]
    render = lambda messages, prompt: model(  # noqa: E731
        model.apply_chat_template(messages, add_generation_prompt=prompt, tokenize=False), add_special_tokens=False
    )["input_ids"]
    buffer = render([ask, turn], False)
    buffer = buffer[: turn_end(as_engine(model), buffer)]
    assert buffer + delta(model, [ask, turn, *results]).ids == render([ask, turn, *results], True)


@pytest.mark.parametrize("role", ["user", "system"])
def test_other_messages(role: str) -> None:
    found = delta(tokenizer(toy.SOUND), [{"role": role, "content": "Be brief."}])
    assert found.text == f"\n<|start|>{role}\nBe brief.<|end|>\n<|start|>assistant\n"
    assert found.appended.value == role


def test_a_turn_cut_off_leaves_its_stop_token_to_the_template() -> None:
    model = tokenizer(toy.SOUND)
    whole = delta(model, [result()])
    assert whole.stop_id is not None
    cut = delta(model, [result()], sampled=[65, 66])
    assert (cut.ids, cut.stop_owner) == ([whole.stop_id, *whole.ids], "template")
    assert cut.text == "<|end|>" + whole.text
    assert delta(model, [result()], sampled=[65, whole.stop_id]) == whole
    assert delta(model, [result()], sampled=[]).stop_owner == "template"
    assert cut.after([65]) == cut


def test_a_role_token_that_stops_the_model_is_not_repeated() -> None:
    model = tokenizer(toy.ROLE_TOKENS, eos="<|halt|>")
    tool_token = model.convert_tokens_to_ids("<|tool|>")
    found = delta(TransformersEngine(model, stop_ids=[tool_token]), [result()])
    assert (found.text, found.stop_id, found.stop_owner) == ("12:04<|assistant|>", tool_token, "model")
    assert found == delta(model, [result()]), "found from the renders, without being declared"
    assert found.after([65]).text == "<|tool|>12:04<|assistant|>"


def test_the_terminator_need_not_be_the_eos_token() -> None:
    found = delta(tokenizer(toy.SOUND, eos="<|halt|>"), [result()])
    assert found.stop_text == "<|end|>"


def test_nothing_ends_the_turn() -> None:
    found = delta(tokenizer(toy.NOTHING_ENDS), [result()])
    assert (found.text, found.stop_id, found.stop_owner) == ("tool: 12:04\nassistant: ", None, "template")
    assert found.after([65]) == found


@pytest.mark.parametrize(
    ("template", "message", "rule"),
    [
        (toy.THINKS_LAST, result(), "TL101"),
        (toy.THINKS_LAST, USER, "TL104"),
        (toy.THINKS_LAST, {"role": "system", "content": "x"}, "TL105"),
        (toy.MERGES_AT_BORDER, result(), "TL102"),
        (
            toy.NO_TOOLS.replace("{{ m.content or '' }}", "{% if m.role != 'tool' %}{{ m.content }}{% endif %}"),
            result(),
            "TL200",
        ),
        (toy.DROPS_RESULTS, result(), "TL202"),
        (toy.REFUSES_TOOLS, result(), "TL211"),
        ("{% for m in messages %}{{ m.content ~ m.tool_calls.nothing.at_all }}<|end|>{% endfor %}", result(), "TL205"),
        ("{% for m in messages if m.role != 'assistant' %}{{ m.role ~ m.content }}<|end|>{% endfor %}", USER, "TL201"),
    ],
)
def test_the_error_names_the_rule(template: str, message: dict[str, Any], rule: str) -> None:
    with pytest.raises(DeltaError) as raised:
        delta(tokenizer(template), [message])
    assert raised.value.rule == rule
    assert str(raised.value).startswith(f"{rule}: ")


def test_an_error_says_where_the_renders_part() -> None:
    with pytest.raises(DeltaError) as raised:
        delta(tokenizer(toy.THINKS_LAST), [result()])
    evidence = raised.value.evidence
    assert evidence["position"] > 0
    assert evidence["earlier"]["text"] != evidence["later"]["text"]


def test_the_real_name_is_in_the_header() -> None:
    model = tokenizer(toy.NAMES_RESULTS)
    assert delta(model, [result(name="get_wind")]).text == "<|tool|>get_wind:12:04<|end|><|assistant|>"
    assert delta(model, [result(name="dummy")]).ids != delta(model, [result()]).ids


def test_a_missing_name_is_found_in_the_conversation() -> None:
    model = tokenizer(toy.NAMES_RESULTS)
    turn = {"role": "assistant", "content": "", "tool_calls": [call("get_wind", "call00007")]}
    nameless = result(name=None, call_id="call00007")
    assert "get_wind" in delta(model, [USER, turn, nameless]).text
    with pytest.raises(DeltaError, match="TL107"):
        delta(model, [nameless])
    assert delta(tokenizer(toy.SOUND), [nameless]).text == delta(tokenizer(toy.SOUND), [result()]).text


def test_template_kwargs_and_tools_reach_the_template() -> None:
    template = toy.SOUND.replace("'<|start|>assistant\n'", "'<|start|>assistant\n' ~ (mood or '') ~ (tools | length)")
    text = delta(tokenizer(template), [result()], tools=[toy.TOOL], mood="calm").text
    assert text.endswith("assistant\ncalm1")


def test_what_is_new() -> None:
    model = tokenizer(toy.SOUND)
    turn = {"role": "assistant", "content": "", "tool_calls": [call(), call("get_wind", "call00002")]}
    results = [result(), result("17", "get_wind", "call00002")]
    assert delta(model, [USER, turn, *results]) == delta(model, results)
    assert delta(model, [USER, turn, *results], appended=1) == delta(model, results[1:])
    with pytest.raises(ValueError, match="no new message"):
        delta(model, [USER, turn])
    with pytest.raises(ValueError, match="a delta is made of"):
        delta(model, [{"role": "critic", "content": "x"}])


def test_not_a_tokenizer() -> None:
    with pytest.raises(TypeError, match="apply_chat_template"):
        delta(object(), [USER])
