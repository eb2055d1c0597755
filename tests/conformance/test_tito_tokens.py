"""Real tokenizers: other segmentations, drift, and what encoding a piece of text alone does."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tito.buffer import Buffer
from template_lint.tito.drift import measure, measure_many
from template_lint.tito.policy import HashPolicy, importance_ratios, score
from template_lint.tito.segmentation import alternatives, bytes_of
from template_lint.tokenization import Tokenization, load_tokenization
from tests.inputs import tokenizer_dir

MODELS = ("qwen3", "gptoss", "llama3_1", "gemma3", "deepseek_v3", "llama2")

# Ids of the special tokens between which a turn of the model stands, and of a newline as the model samples it.
STOPS = {
    "qwen3": "<|im_end|>",
    "gptoss": "<|end|>",
    "llama3_1": "<|eot_id|>",
    "gemma3": "<end_of_turn>",
    "deepseek_v3": "<｜end▁of▁sentence｜>",
    "llama2": "</s>",
}
NEWLINE = {"qwen3": 198, "gptoss": 198, "llama3_1": 198, "gemma3": 107, "deepseek_v3": 201, "llama2": 13}
TWO_NEWLINES = {"qwen3": [271], "gptoss": [279], "llama3_1": [271], "gemma3": [108], "deepseek_v3": [271]}

TEXTS = (
    " a leading space, and\n a leading newline\n\n\n",
    "日本語テキストと中文，한국어 🎉👩‍👩‍👧 é e\u0301 Å \u200b\ufeff\u00a0",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "n": [1, 2.5, null], "q": "\\u00e9"}}',
    '<|im_start|>assistant\n<think>\n\n</think>\n\n<tool_call>\n{"city": "Paris"}\n</tool_call><|im_end|>',
    "def f(x: int) -> str:\n\treturn f'{x!r}'  # 1234567890\r\n" * 4,
    "<start_of_turn>[INST] <s> <0x0A> ▁ <|eot_id|><｜User｜> Ġ Ċ",
)


@cache
def load(model: str) -> Tokenization:
    return load_tokenization(load_snapshot(parse_target(str(tokenizer_dir(model)))))


def check_alternatives(tokenization: Tokenization, ids: list[int], count: int) -> list[list[int]]:
    found = alternatives(tokenization, ids, seed=5, count=count)
    text = tokenization.decode(ids)
    assert {tokenization.decode(path) for path in found} <= {text}
    assert len({tuple(path) for path in found} | {tuple(ids)}) == len(found) + 1
    kept = [token_id for token_id in ids if bytes_of(tokenization, token_id) is None]
    for path in found:
        assert [token_id for token_id in path if bytes_of(tokenization, token_id) is None] == kept
    return found


@pytest.mark.parametrize("model", MODELS)
def test_every_token_has_the_bytes_that_it_decodes_to(model: str) -> None:
    """All tokens of the vocabulary in one text: it decodes to the bytes of each, one after the other."""
    tokenization = load(model)
    stop = tokenization.token_id(STOPS[model])
    assert stop is not None and bytes_of(tokenization, stop) is None
    # Tokens that are no whole characters by themselves would join with their neighbours.
    whole = [
        (index, found)
        for index in range(tokenization.vocab_size)
        if (found := bytes_of(tokenization, index)) and is_text(found)
    ]
    assert len(whole) > 0.9 * (tokenization.vocab_size - len(tokenization.added_ids))
    ids = [stop, *(token_id for token_id, _ in whole)]
    expected = STOPS[model] + b"".join(found for _, found in whole).decode()
    assert tokenization.decode(ids) == expected


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("model", MODELS)
def test_32_alternatives_read_the_same(model: str, text: str) -> None:
    tokenization = load(model)
    ids = tokenization.encode(text + STOPS[model])
    assert len(check_alternatives(tokenization, ids, 32)) == 32


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.text(
        st.sampled_from(
            [*" \n\t\r<>|{}\"'\\0aA", "e", "é", "\u0301", "日", "🎉", "\u200d", "▁", "Ġ", "\ufffd", "ı", "ﬁ"]
        )
        | st.characters(exclude_categories=["Cs"]),
        max_size=30,
    )
)
def test_alternatives_of_any_text(model: str, text: str) -> None:
    tokenization = load(model)
    ids = tokenization.encode(text + STOPS[model] + text)
    for path in check_alternatives(tokenization, ids, 6):
        drift = measure(tokenization, path, [1] * len(path))
        assert drift.verdict in ("CLEAN", "REALIGN")
        assert drift.straddling == []


@pytest.mark.parametrize("model", [model for model in MODELS if model != "llama2"])
def test_two_newlines(model: str) -> None:
    """The fuzz finds that two sampled newlines come back as one token, inside a turn as well as alone."""
    tokenization = load(model)
    newline = NEWLINE[model]
    assert tokenization.encode("\n\n") == TWO_NEWLINES[model]
    assert [newline, newline] in alternatives(tokenization, TWO_NEWLINES[model], seed=0, count=8)
    stop = tokenization.token_id(STOPS[model])
    assert stop is not None
    drift = measure(tokenization, [stop, newline, newline, stop], [0, 1, 1, 0])
    assert drift.reencoded == [stop, *TWO_NEWLINES[model], stop]
    assert (drift.drifted, drift.first, drift.verdict, drift.mismatch) == (2, 1, "REALIGN", "assistant")


def test_two_newlines_of_qwen3_by_number() -> None:
    tokenization = load("qwen3")
    assert alternatives(tokenization, [271], seed=0, count=8) == [[198, 198]]
    assert measure(tokenization, [198, 198], [1, 1]).reencoded == [271]


@pytest.mark.parametrize("model", MODELS)
def test_sampled_text_that_merges_with_text_of_a_tool_straddles(model: str) -> None:
    tokenization = load(model)
    stop = tokenization.token_id(STOPS[model])
    [*_, low] = tokenization.encode("x low")
    [*_, er] = tokenization.encode("x]er")
    assert stop is not None
    drift = measure(tokenization, [stop, low, er, stop], [0, 1, 0, 0])
    text = bytes_of(tokenization, low)
    assert text == b" low" and bytes_of(tokenization, er) == b"er"
    assert [(place, token) for place, _, token in drift.straddling] == [(1, " lower")]
    assert drift.verdict == "FORK"


def test_a_batch_is_measured_as_one_by_one() -> None:
    tokenization = load("qwen3")
    buffers = []
    for text in TEXTS:
        for ids in alternatives(tokenization, tokenization.encode(text), seed=1, count=4):
            buffer = Buffer()
            buffer.extend(ids[:5], sampled=False)
            buffer.extend(ids[5:], sampled=True)
            buffers.append(buffer)
    drifts = measure_many(tokenization, buffers)
    assert drifts == [measure(tokenization, buffer.ids, buffer.mask) for buffer in buffers]
    assert {str(drift.verdict) for drift in drifts} >= {"REALIGN", "FORK"}


def test_ratios_under_drift() -> None:
    """A policy over the whole vocabulary: the same ids have ratio 1, silently drifted ones have not."""
    tokenization = load("qwen3")
    policy = HashPolicy(0, tokenization.vocab_size)
    ids = tokenization.encode('{"name": "get_weather", "arguments": {"city": "Zürich"}}')
    silent = [
        (path, drift.reencoded)
        for path in alternatives(tokenization, ids, seed=0, count=400)
        if (drift := measure(tokenization, path, [1] * len(path))).same_length
    ]
    assert silent
    for sampled, reencoded in silent:
        assert importance_ratios(score(policy, sampled), score(policy, sampled)) == [1.0] * len(sampled)
        assert max(importance_ratios(score(policy, sampled), score(policy, reencoded))) != 1.0


@pytest.mark.parametrize(
    ("before", "appended", "in_context", "alone"),
    [
        ("<s>[INST] Hi [/INST] Yes", "\nNo", [13, 2501], [28705, 13, 2501]),
        ("<s>[INST] weather? [/INST] call", "[TOOL]", [28792, 3957, 3064, 28793], [733, 3957, 3064, 28793]),
    ],
)
def test_llama2_text_that_is_encoded_alone(before: str, appended: str, in_context: list[int], alone: list[int]) -> None:
    """SentencePiece puts a space before every text: what is appended in the middle of one must not get it."""
    tokenization = load("llama2")
    prefix = tokenization.encode(before)
    assert tokenization.encode(before + appended) == prefix + in_context
    assert tokenization.encode(appended) == alone
