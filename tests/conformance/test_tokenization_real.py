"""Real tokenizers: ids, offsets and special tokens against the installed transformers."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.inputs import tokenizer_dir
from tests.snapshot.folders import profile

MODELS = ("qwen3", "gptoss", "llama3_1", "gemma3", "deepseek_v3", "llama2")

TEXTS = (
    "",
    " ",
    "\n\n\n  x\t\ty\r\n",
    "Hello, world! It's what they'd DON'T 1234567 //path\n",
    " leading and  double  spaces ",
    "日本語テキストと中文，한국어 🎉👩‍👩‍👧 é e\u0301 Å",
    "def f(x: int) -> str:\n    return f'{x!r}'\n",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "n": [1, 2.5, null]}}',
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    "<|start|>assistant<|channel|>analysis<|message|>x<|end|>",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>",
    "<start_of_turn>user\nhi<end_of_turn>\n<mask> <image_soft_token>",
    "<s>[INST]  a [/INST] b </s><s> c",
    "<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜> </think>",
    "<|unknown_marker|> <tool_call>\n{}\n</tool_call>",
    " công việc hợp nhiều jeho Việt ایران",  # words that Llama 3 takes whole against its merges
    "\u0000\u200b\ufeff\u2028 \u00a0x",
)


@pytest.mark.parametrize("model", MODELS)
def test_real_tokenizer(model: str) -> None:
    from transformers import AutoTokenizer

    folder = tokenizer_dir(model)
    snapshot = load_snapshot(parse_target(str(folder)))
    real: Any = AutoTokenizer.from_pretrained(folder)
    ours = load_tokenization(snapshot, profile_version=profile())
    assert special_tokens(snapshot, profile()) == real.special_tokens_map
    assert ours.vocab_size == len(real)
    assert ours.eos_ids == (real.eos_token_id,)
    for text in TEXTS:
        expected = real(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode_with_offsets(text) == (expected["input_ids"], expected["offset_mapping"]), text
        assert ours.encode(text) == expected["input_ids"], text


def test_llama_of_4_and_5_differ_where_text_begins_with_a_space() -> None:
    snapshot = load_snapshot(parse_target(str(tokenizer_dir("llama2"))))
    four = load_tokenization(snapshot, profile_version=(4, 57))
    five = load_tokenization(snapshot, profile_version=(5, 24))
    assert four.encode("a b") == five.encode("a b")
    assert [four.encode(" a"), five.encode(" a")] != [four.encode(" a")] * 2
