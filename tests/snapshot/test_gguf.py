"""GGUF files: templates, special tokens, a small tokenizer, and files that are broken or cut short."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.snapshot.gguf_writing import gguf_bytes, text, write_gguf

KEY = "tokenizer.chat_template"
TOKENS = ["h", "i", "Ġ", "hi", "<bos>", "<eot>", "<think>"]
FIELDS: dict[str, Any] = {
    "general.architecture": "llama",
    f"{KEY}.tool_use": "T",
    f"{KEY}.rag": "R",
    f"{KEY}s": ["tool_use", "rag"],
    KEY: "D",
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.tokens": TOKENS,
    "tokenizer.ggml.token_type": [1, 1, 1, 1, 3, 3, 4],
    "tokenizer.ggml.merges": ["h i"],
    "tokenizer.ggml.bos_token_id": 4,
    "tokenizer.ggml.eos_token_id": 5,
    "tokenizer.ggml.eot_token_id": 5,
    "tokenizer.ggml.eom_token_id": 6,
    "tokenizer.ggml.seperator_token_id": 0,
    "tokenizer.ggml.padding_token_id": 4_294_967_295,
}


def load(path: Path) -> Snapshot:
    return load_snapshot(parse_target(str(path)))


@pytest.mark.parametrize("options", [{}, {"version": 2}, {"order": ">"}])
def test_templates_and_tokens(options: dict[str, Any], tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "m.gguf", FIELDS, **options)
    snapshot = load(path)
    assert [(template.name, template.source, template.pointer) for template in snapshot.templates] == [
        ("default", "D", KEY),
        ("rag", "R", f"{KEY}.rag"),
        ("tool_use", "T", f"{KEY}.tool_use"),
    ]
    assert {template.file for template in snapshot.templates} == {path.as_posix()}
    assert special_tokens(snapshot, (5, 24)) == {"bos_token": "<bos>", "eos_token": "<eot>", "sep_token": "h"}
    assert snapshot.stop_ids == (5, 6)
    assert snapshot.files == {}


def test_tokenizer(tmp_path: Path) -> None:
    tokenization = load_tokenization(load(write_gguf(tmp_path / "m.gguf", FIELDS)))
    assert tokenization.encode("<bos>hi hi<think>h") == [4, 3, 2, 3, 6, 0]
    assert tokenization.special_ids == {4, 5}
    assert tokenization.eos_ids == (5, 6)
    assert tokenization.decode([4, 3, 2, 3], skip_special_tokens=True) == "hi hi"


def test_without_default_there_is_a_selection_error(tmp_path: Path) -> None:
    snapshot = load(write_gguf(tmp_path / "m.gguf", {f"{KEY}.rag": "R"}))
    assert snapshot.selection_error is not None and "'rag'" in snapshot.selection_error
    assert load(write_gguf(tmp_path / "n.gguf", {"general.name": "x"})).templates == ()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "no tokenizer metadata"),
        ({"tokenizer.ggml.model": "llama"}, "model 'llama' are not supported"),
        ({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "new"}, "pre-tokenizer 'new' is not supported"),
        ({"tokenizer.ggml.model": "gpt2"}, "pre-tokenizer None is not supported"),
    ],
)
def test_an_unknown_tokenizer_has_a_reason(fields: dict[str, Any], reason: str, tmp_path: Path) -> None:
    snapshot = load(write_gguf(tmp_path / "m.gguf", {KEY: "D", **fields}))
    assert snapshot.tokenizer is None
    with pytest.raises(CannotCheckError, match=reason) as caught:
        load_tokenization(snapshot)
    assert caught.value.kind == "no-tokenizer"


WHOLE = gguf_bytes(FIELDS)


@pytest.mark.parametrize("size", range(len(WHOLE)))
def test_a_file_cut_anywhere_is_broken(size: int, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE[:size])
    with pytest.raises(CannotCheckError, match=r"is not a readable GGUF file: .* Download it again") as caught:
        load(path)
    assert caught.value.kind == "malformed"


def field(kind: int, *rest: Any) -> bytes:
    """A file with one field of raw type ``kind``; ``rest`` is a struct layout and its values."""
    return gguf_bytes({}, count=1) + text("k") + struct.pack("<I", kind) + struct.pack(*rest)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gguf_bytes({}, version=1), "its version is neither 2 nor 3"),
        (gguf_bytes({}, version=4), "its version is neither 2 nor 3"),
        (gguf_bytes({}, count=1 << 60), "it ends at byte 24"),
        (field(99, "<I", 0), "unknown or nested type 99"),
        (field(9, "<IQ", 4, 1 << 60), "it ends at byte"),
        (field(9, "<IQ", 8, 1 << 60), "it ends at byte"),
        (field(9, "<IQ", 9, 1 << 60), "unknown or nested type 9"),
        (field(8, "<Q", 1 << 60), "it ends at byte"),
        (gguf_bytes({KEY: "x"})[:-1] + b"\xff", "is not UTF-8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_broken_contents(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(data)
    with pytest.raises(CannotCheckError, match=reason):
        load(path)


def test_a_template_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(CannotCheckError, match=f"must hold a string at {KEY}, not a number"):
        load(write_gguf(tmp_path / "m.gguf", {KEY: 3}))


def test_what_the_gguf_package_writes_is_read(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "m.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1, 1, 1, 1, 3, 3, 4])
    writer.add_token_merges(["h i"])
    writer.add_eos_token_id(5)
    writer.add_float32("general.scale", 0.5)
    writer.add_bool("general.flag", True)
    writer.add_chat_template([{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    snapshot = load(path)
    assert [(template.name, template.source) for template in snapshot.templates] == [
        ("default", "D"),
        ("tool_use", "T"),
    ]
    assert load_tokenization(snapshot).encode("hi<think>") == [3, 6]
