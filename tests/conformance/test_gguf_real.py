"""GGUF files written from real tokenizers: the ids must be those of the model's own tokenizer.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.conformance.test_tokenization_real import TEXTS
from tests.inputs import tokenizer_dir

gguf = pytest.importorskip("gguf")


def write_gguf(folder: Path, path: Path, pre: str) -> None:
    """Write the vocabulary of tokenizer.json the way llama.cpp's converter does, with the gguf package."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    model = tokenizer["model"]
    added = {token["id"]: token for token in tokenizer["added_tokens"]}
    size = max(*model["vocab"].values(), *added) + 1
    tokens, types = [f"[PAD{index}]" for index in range(size)], [gguf.TokenType.UNUSED] * size
    for token, index in model["vocab"].items():
        tokens[index], types[index] = token, gguf.TokenType.NORMAL
    for index, token in added.items():
        kind = gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED
        tokens[index], types[index] = token["content"], kind
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]])
    writer.add_chat_template("T")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


@pytest.mark.parametrize(
    ("model", "pre"),
    [("qwen3", "qwen2"), ("llama3_1", "llama-bpe"), ("gptoss", "gpt-4o"), ("deepseek_v3", "deepseek-v3")],
)
def test_ids_of_tokenizer_json(model: str, pre: str, tmp_path: Path) -> None:
    folder = tokenizer_dir(model)
    write_gguf(folder, tmp_path / "m.gguf", pre)
    snapshot = load_snapshot(parse_target(str(tmp_path / "m.gguf")))
    assert [template.source for template in snapshot.templates] == ["T"]
    ours = load_tokenization(snapshot)
    reference = load_tokenization(load_snapshot(parse_target(str(folder))))
    for text in TEXTS:
        assert ours.encode(text) == reference.encode(text), text
        assert ours.decode(ours.encode(text)) == reference.decode(reference.encode(text)), text
    assert ours.special_ids == reference.special_ids
