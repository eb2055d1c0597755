"""load_tokenization() against the installed transformers on small made-up tokenizers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import Tokenization, load_tokenization
from tests.snapshot.folders import WORDS, added, model_folder, profile, tokenizer_json, write

PADDING = {
    "strategy": {"Fixed": 8},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 3,
    "pad_type_id": 0,
    "pad_token": "<pad>",
}
TRUNCATION = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}


def untyped(content: str, **flags: Any) -> dict[str, Any]:
    """A token as added_tokens_decoder holds it."""
    return {key: value for key, value in added(content, **flags).items() if key != "__type"}


def config(**settings: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": settings}


def load(folder: Path) -> Tokenization:
    return load_tokenization(load_snapshot(parse_target(str(folder))), profile_version=profile())


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "truncation and padding": {"tokenizer.json": tokenizer_json(padding=PADDING, truncation=TRUNCATION)},
    "named tokens": config(bos_token="<bos>", eos_token=added("<eos>", lstrip=True), pad_token="<pad>"),
    "empty named token": config(bos_token="", eos_token="</s>"),
    "decoder": config(
        added_tokens_decoder={
            "9": untyped("<late>", special=True),
            "7": untyped("<early>", rstrip=True),
            "4": untyped("hello", special=True),
        },
        bos_token="<early>",
        eos_token="<new>",
    ),
    "additional": config(additional_special_tokens=["<a>", added("<b>", special=True)]),
    "extra object": config(extra_special_tokens={"image_token": "<image>"}),
    "special tokens map": {"special_tokens_map.json": {"bos_token": "<a>", "eos_token": {"content": "<b>"}}},
    "special tokens map with a list": {
        "special_tokens_map.json": {
            "additional_special_tokens" if profile() < (5, 0) else "extra_special_tokens": [{"content": "<a>"}]
        },
    },
    "added_tokens.json": {
        "added_tokens.json": {"<late>": 8, "<early>": 7, "<eos>": 6},
        **config(eos_token="<eos>"),
    },
    "split special tokens": config(split_special_tokens=True, bos_token="<s>"),
}
TEXTS = (
    "hello world",
    "<s> hello </s>",
    "hello<s>world",
    "hello<early>  world<late>x",
    "<bos>hello <eos> <new> <pad>",
    "<a><b> <image>world",
    "ünï <unk>",
    "",
)


@pytest.mark.parametrize("case", CASES)
def test_ids_are_those_of_transformers(case: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = model_folder(tmp_path, CASES[case])
    real = AutoTokenizer.from_pretrained(folder)
    ours = load(folder)
    for text in TEXTS:
        expected = real(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode(text) == expected["input_ids"], text
        assert ours.encode_with_offsets(text) == (expected["input_ids"], expected["offset_mapping"]), text
    assert ours.encode_batch(TEXTS) == [ours.encode(text) for text in TEXTS]
    assert ours.vocab_size == len(real)
    assert ours.special_ids == {index for index, token in real.added_tokens_decoder.items() if token.special}


def test_offsets_count_code_points(tmp_path: Path) -> None:
    ids, offsets = load(model_folder(tmp_path, {})).encode_with_offsets("🎉🎉 hello")
    assert [WORDS[token_id] for token_id in ids] == ["<unk>", "hello"]
    assert offsets == [(0, 2), (3, 8)]


def test_pieces_and_decoding(tmp_path: Path) -> None:
    tokenization = load(model_folder(tmp_path, {}))
    assert tokenization.decode([1, 4, 5]) == "<s> hello world"
    assert tokenization.decode([1, 4, 5], skip_special_tokens=True) == "hello world"
    assert (tokenization.token(4), tokenization.token_id("hello"), tokenization.token_id("no")) == ("hello", 4, None)
    with pytest.raises(KeyError):
        tokenization.token(99)


def test_ids_at_which_generation_stops(tmp_path: Path) -> None:
    files = {**config(eos_token="</s>"), "generation_config.json": {"eos_token_id": [5, 2, 4]}}
    assert load(model_folder(tmp_path, files)).eos_ids == (2, 5, 4)
    assert load(model_folder(tmp_path / "none", {})).eos_ids == ()


def test_the_second_call_is_cached_until_a_file_changes(tmp_path: Path) -> None:
    folder = model_folder(tmp_path, {})
    first = load(folder)
    assert load(folder) is first
    write(folder, {"tokenizer.json": tokenizer_json(special=("world",))})
    os.utime(folder / "tokenizer.json", ns=(1, 1))
    assert load(folder) is not first
    assert load(folder).special_ids == {5}
    write(folder, {"tokenizer_config.json": {"bos_token": "<bos>"}})
    assert load(folder).vocab_size == len(WORDS) + 1


def test_without_tokenizer_json_transformers_loads_the_folder(tmp_path: Path) -> None:
    vocabulary = {"<|endoftext|>": 0, "h": 1, "i": 2, "hi": 3, "Ġ": 4}
    files = {
        "vocab.json": vocabulary,
        "merges.txt": "#version: 0.2\nh i\n",
        "tokenizer_config.json": {"tokenizer_class": "GPT2Tokenizer", "chat_template": "C"},
        "config.json": {"model_type": "gpt2"},
    }
    tokenization = load(write(tmp_path, files))
    assert tokenization.encode("hi hi<|endoftext|>") == [3, 4, 3, 0]
    assert tokenization.eos_ids == (0,)


@pytest.mark.parametrize(
    ("files", "kind", "message"),
    [
        ({"chat_template.jinja": "J"}, "no-tokenizer", "there is no tokenizer.json"),
        ({"chat_template.jinja": "J", "tokenizer.json": "{}"}, "tokenizer-unloadable", "cannot be loaded"),
        ({"chat_template.jinja": "J", "tokenizer.json": "{"}, "tokenizer-unloadable", "cannot be loaded"),
        ({"chat_template.jinja": "J", "tokenizer.model": "no"}, "tokenizer-unloadable", "cannot be loaded"),
        (
            {"tokenizer_config.json": {"added_tokens_decoder": {"x": 1}}, "tokenizer.json": tokenizer_json()},
            "tokenizer-unloadable",
            "cannot be loaded",
        ),
    ],
)
def test_no_tokenizer_has_a_reason(files: dict[str, Any], kind: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match=message) as caught:
        load(write(tmp_path, files))
    assert caught.value.kind == kind


def test_a_single_file_has_no_tokenizer(tmp_path: Path) -> None:
    folder = write(tmp_path, {"x.jinja": "x", "tokenizer.json": tokenizer_json()})
    with pytest.raises(CannotCheckError, match="check the model folder") as caught:
        load(folder / "x.jinja")
    assert caught.value.kind == "no-tokenizer"


def test_code_of_the_model_is_never_run(tmp_path: Path) -> None:
    """A tokenizer that only remote code can build is refused, and the code is left alone."""
    proof = tmp_path / "ran"
    files = {
        "tokenizer.model": "no",
        "config.json": {"model_type": "made-up"},
        "tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["evil.Evil", None]}, "tokenizer_class": "Evil"},
        "evil.py": f"open({str(proof)!r}, 'w').close()\nclass Evil:\n    pass\n",
    }
    with pytest.raises(CannotCheckError, match="cannot be loaded"):
        load(write(tmp_path, files))
    assert not proof.exists()


def test_a_tokenizer_that_fails_on_unknown_words_is_unloadable(tmp_path: Path) -> None:
    """It would fail in the middle of a check otherwise."""
    model = {"type": "WordLevel", "vocab": {"x": 0}, "unk_token": "[UNK]"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "x"}')
    with pytest.raises(CannotCheckError, match="Missing"):
        load_tokenization(load_snapshot(parse_target(str(tmp_path))))
