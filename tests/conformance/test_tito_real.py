"""Six real tokenizers with the chat templates of their models: what the harness must show, with both engines."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from template_lint.tito import delta
from template_lint.tito.deltas import DeltaError
from template_lint.tito.evidence import Check, Status
from template_lint.tito.harness import run
from template_lint.tito.report import TemplateTito, as_json
from tests.inputs import corpus_dir, tokenizer_dir

TEMPLATES = {
    "qwen3": "Qwen-Qwen3-0.6B@a55ee1",
    "gptoss": "openai-gpt-oss-120b",
    "llama3_1": "meta-llama-Llama-3.1-8B-Instruct",
    "gemma3": "unsloth-gemma-3-270m-it",
    "deepseek_v3": "ByteDance-Seed-academic-ds-9B",
    "llama2": "huggyllama-llama-7b",
}
"""Tokenizer -> a template of the same model in the corpus. DeepSeek-V3's is in its tokenizer_config.json too."""

VERDICTS = {
    "qwen3": ("unstable", False),
    "gptoss": ("breaks-on-user", True),
    "llama3_1": ("stable", True),
    "gemma3": ("no-tools", True),
    "deepseek_v3": ("breaks-on-user", False),
    "llama2": ("no-tools", True),
}
"""Tokenizer -> the verdict, and whether no check fails."""

RESULT = {"role": "tool", "tool_call_id": "callTide1", "name": "lookup_tide", "content": "tide 12:04"}


def source(model: str) -> str:
    return (corpus_dir() / f"{TEMPLATES[model]}.jinja").read_text(encoding="utf-8")


def without_conditions(template: str) -> str:
    """Qwen3's template with the thinking block in every assistant turn, as the model saw it when it was last."""
    changed = template.replace("loop.index0 > ns.last_query_index", "true")
    return changed.replace("loop.last or (not loop.last and reasoning_content)", "true")


@cache
def examined(model: str, engine: str = "mirror", segmentations: int = 32) -> tuple[TemplateTito, dict[str, Any]]:
    report = run(
        str(corpus_dir() / f"{TEMPLATES[model]}.jinja"),
        tokenizer=str(tokenizer_dir(model)),
        engine=engine,
        segmentations=segmentations,
    )
    return report.templates[0], as_json(report)["templates"][0]


@cache
def live(model: str) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(tokenizer_dir(model)))
    tokenizer.chat_template = source(model)
    return tokenizer


def check(found: TemplateTito, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


@pytest.mark.parametrize("model", TEMPLATES)
def test_verdicts(model: str) -> None:
    found, _ = examined(model)
    assert (found.verdict.tito, found.sound) == VERDICTS[model]


@pytest.mark.parametrize("model", TEMPLATES)
def test_the_engines_agree(model: str) -> None:
    assert examined(model)[1] == examined(model, "transformers")[1]


@pytest.mark.parametrize("model", TEMPLATES)
def test_re_encoding_drifts_and_the_buffer_does_not(model: str) -> None:
    found, _ = examined(model)
    assert found.drift is not None and found.ratio is not None
    assert found.drift.drifted_tokens > 0
    assert found.drift.clean < found.drift.buffers
    assert found.ratio.tito_maximum_error == 0.0
    assert check(found, "mask-on-sampled").status is Status.PASS
    assert check(found, "text-of-segmentations").status is Status.PASS


def test_qwen3_is_unstable_and_a_copy_without_conditions_is_not(tmp_path: Any) -> None:
    failure = check(examined("qwen3")[0], "buffer-after-tool")
    assert (failure.status, failure.rule) == (Status.FAIL, "TL101")
    assert failure.evidence["earlier"]["text"] == "<think>"
    fixed = tmp_path / "fixed.jinja"
    fixed.write_text(without_conditions(source("qwen3")), encoding="utf-8")
    (found,) = run(str(fixed), tokenizer=str(tokenizer_dir("qwen3")), segmentations=2).templates
    assert found.sound
    assert found.verdict.tito == "stable"


def test_qwen3_newline_is_in_the_delta() -> None:
    tokenizer = live("qwen3")
    with pytest.raises(DeltaError, match="TL101"):
        delta(tokenizer, [RESULT])
    tokenizer.chat_template = without_conditions(source("qwen3"))
    try:
        found = delta(tokenizer, [RESULT])
    finally:
        tokenizer.chat_template = source("qwen3")
    assert tokenizer.decode([found.stop_id]) == "<|im_end|>"
    assert found.stop_owner == "model"
    assert found.glue == [198]
    assert found.ids[:2] == [198, tokenizer.convert_tokens_to_ids("<|im_start|>")]


def test_qwen3_two_newlines_are_found_by_the_segmentation_fuzz() -> None:
    drift = examined("qwen3")[0].drift
    assert drift is not None
    assert ([198, 198], [271]) in [(example.sampled, example.reencoded) for example in drift.examples]


def test_deepseek_v3_second_delta_is_wrong() -> None:
    failure = check(examined("deepseek_v3")[0], "delta-from-dummy")
    assert (failure.status, failure.rule) == (Status.FAIL, "TL106")
    assert failure.evidence["delta"] == 2
    assert failure.evidence["dummy"]["text"] == "<｜tool▁outputs▁begin｜>"


def test_gptoss_delta_with_a_placeholder_name_is_wrong_and_we_say_so() -> None:
    tokenizer = live("gptoss")
    assert delta(tokenizer, [{**RESULT, "name": "dummy"}]).ids != delta(tokenizer, [RESULT]).ids
    assert "functions.lookup_tide" in delta(tokenizer, [RESULT]).text
    warning = check(examined("gptoss")[0], "placeholder-names")
    assert (warning.status, warning.rule) == (Status.WARN, "TL107")
    assert warning.evidence["depends_on"] == ["the tool's name"]


def test_gptoss_call_token_ends_the_turn_though_it_is_not_the_eos_token() -> None:
    tokenizer = live("gptoss")
    assert tokenizer.eos_token == "<|return|>"
    assert delta(tokenizer, [RESULT]).stop_text == "<|call|>"


TEXT_TURNS = (
    "{{ bos_token }}{% for m in messages %}{{ m.role ~ ': ' ~ m.content ~ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}"
)
"""Turns without special tokens, as many prompts of the Llama 2 days have them."""


def test_llama2_delta_is_not_the_ids_of_its_text() -> None:
    tokenizer = live("llama2")
    thanks = {"role": "user", "content": "Thanks."}
    history = [{"role": "user", "content": "dummy"}, {"role": "assistant", "content": "dummy"}, thanks]
    try:
        tokenizer.chat_template = TEXT_TURNS
        found = delta(tokenizer, [thanks])
        text = tokenizer.apply_chat_template(history, tokenize=False, add_generation_prompt=True)
    finally:
        tokenizer.chat_template = source("llama2")
    whole = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert whole[-len(found.ids) :] == found.ids
    alone = tokenizer(found.text, add_special_tokens=False)["input_ids"]
    assert found.text == "user: Thanks.\nassistant:"
    assert alone != found.ids, "SentencePiece puts a space in front of a text that stands alone"
    assert tokenizer.convert_ids_to_tokens(alone[:1]) == ["▁user"]
    assert tokenizer.convert_ids_to_tokens(found.ids[:1]) == ["user"]


@pytest.mark.parametrize("model", [model for model in TEMPLATES if model not in ("gemma3", "llama2", "qwen3")])
def test_the_stop_token_is_the_models(model: str) -> None:
    found = delta(live(model), [RESULT])
    assert found.stop_owner == "model"
    assert found.stop_id not in found.ids[:1]
