"""load_snapshot() on single files, standard input and folders, and the errors of files that cannot be read."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from template_lint.errors import CannotCheckError, UsageError
from template_lint.snapshot import files
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.model import Snapshot
from template_lint.target import Target, TargetKind, parse_target
from tests.snapshot.folders import model_folder, tokenizer_json, write


def load(path: Path) -> Snapshot:
    return load_snapshot(parse_target(str(path)))


@pytest.mark.parametrize("name", ["x.jinja", "x.jinja2", "x.J2"])
def test_template_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = "\ufeffü\r\n{{ x }}\r".encode()
    path.write_bytes(data)
    (tmp_path / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    snapshot = load(path)
    (template,) = snapshot.templates
    assert template.source == "\ufeffü\n{{ x }}\n"
    assert (template.name, template.file, template.pointer) == ("default", path.as_posix(), None)
    assert snapshot.files == {path.as_posix(): hashlib.sha256(data).hexdigest()}
    assert snapshot.config == {}, "a file stands for itself, not for its folder"
    assert snapshot.tokenizer is None and snapshot.tokenizer_missing


def test_empty_template_is_a_template(tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    path.write_bytes(b"")
    snapshot = load(path)
    assert [template.source for template in snapshot.templates] == [""]
    assert snapshot.selection_error is None


@pytest.mark.parametrize("name", ["tokenizer_config.json", "chat_template.json", "processor_config.json"])
def test_json_file_is_read_alone(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: {"chat_template": "X"}, "chat_template.jinja": "J", "tokenizer.json": tokenizer_json()})
    snapshot = load(tmp_path / name)
    assert [(template.source, template.pointer) for template in snapshot.templates] == [("X", "/chat_template")]
    assert list(snapshot.files) == [(tmp_path / name).as_posix()]
    assert snapshot.tokenizer is None


def test_json_file_without_a_template(tmp_path: Path) -> None:
    snapshot = load(write(tmp_path, {"tokenizer_config.json": {}}) / "tokenizer_config.json")
    assert snapshot.templates == ()
    assert snapshot.selection_error == "there is no chat template. Add chat_template.jinja to the model."


@pytest.mark.parametrize("name", ["config.json", "notes.txt", "template"])
def test_unknown_file_type_is_a_wrong_request(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("x")
    with pytest.raises(UsageError, match="cannot tell what"):
        load(path)


@pytest.mark.parametrize("stream", [io.StringIO("a\r\nb"), io.TextIOWrapper(io.BytesIO(b"a\r\nb"))])
def test_standard_input(stream: Any) -> None:
    snapshot = load_snapshot(parse_target("-"), stdin=stream)
    assert [(template.file, template.source) for template in snapshot.templates] == [("-", "a\nb")]
    assert snapshot.files == {"-": hashlib.sha256(b"a\r\nb").hexdigest()}


@pytest.mark.parametrize("make", [io.StringIO, lambda text: io.TextIOWrapper(io.BytesIO(text.encode()))])
def test_standard_input_too_large(make: Any) -> None:
    with pytest.raises(CannotCheckError, match="standard input is too large") as caught:
        load_snapshot(parse_target("-"), stdin=make("x" * (files.MAX_SOURCE_BYTES + 1)))
    assert caught.value.kind == "too-large"


def test_folder_with_everything(tmp_path: Path) -> None:
    model_folder(
        tmp_path,
        {
            "chat_template.jinja": "J",
            "additional_chat_templates/rag.jinja": "R",
            "generation_config.json": {"eos_token_id": [2, 3]},
            "config.json": {"eos_token_id": 9, "model_type": "qwen3"},
            "special_tokens_map.json": {"bos_token": "<s>"},
            "model.safetensors": b"weights",
            "README.md": "text",
        },
    )
    snapshot = load(tmp_path)
    assert list(snapshot.files) == [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    for name, digest in snapshot.files.items():
        assert digest == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert snapshot.stop_ids == (2, 3)
    assert snapshot.model_config["model_type"] == "qwen3"
    assert snapshot.special_tokens_map_json == {"bos_token": "<s>"}
    assert snapshot.tokenizer is not None and snapshot.tokenizer.tokenizer_json == tmp_path / "tokenizer.json"
    assert [template.name for template in snapshot.templates] == ["default", "rag"]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"generation_config.json": {"eos_token_id": 2}}, (2,)),
        ({"generation_config.json": {}, "config.json": {"eos_token_id": 9}}, ()),
        ({"config.json": {"eos_token_id": 9}}, (9,)),
        ({"generation_config.json": {"eos_token_id": [True, "2", None]}}, ()),
        ({}, ()),
    ],
)
def test_stop_ids(contents: dict[str, Any], expected: tuple[int, ...], tmp_path: Path) -> None:
    assert load(write(tmp_path, {"chat_template.jinja": "J", **contents})).stop_ids == expected


def test_folder_without_vocabulary_says_so(tmp_path: Path) -> None:
    snapshot = load(write(tmp_path, {"chat_template.jinja": "J"}))
    assert snapshot.tokenizer is None
    assert snapshot.tokenizer_missing == "there is no tokenizer.json or other vocabulary file"
    assert load(write(tmp_path, {"tokenizer.model": b"x"})).tokenizer is not None


BROKEN: dict[str, tuple[str, Any, str, str]] = {
    "not UTF-8": ("chat_template.jinja", b"ok\n\xff", "not-utf-8", "is not UTF-8: byte 0xff at offset 3"),
    "UTF-16": ("chat_template.jinja", "x".encode("utf-16"), "not-utf-8", "byte 0xff at offset 0"),
    "too large": (
        "chat_template.jinja",
        "x" * (files.MAX_SOURCE_BYTES + 1),
        "too-large",
        "the limit is 1,048,576 bytes and it has 1,048,577 bytes",
    ),
    "too large inside JSON": (
        "tokenizer_config.json",
        {"chat_template": "ü" * (files.MAX_SOURCE_BYTES // 2 + 1)},
        "too-large",
        "1,048,578 bytes",
    ),
    "broken JSON": (
        "tokenizer_config.json",
        '{\n "a": 1,\n}',
        "malformed",
        "not valid JSON: .* at line [23], column",
    ),
    "JSON with a byte order mark": ("tokenizer_config.json", "\ufeff{}", "malformed", "line 1, column 1"),
    "JSON of the wrong type": ("tokenizer_config.json", [], "malformed", "must hold an object, not an array"),
    "deep JSON": ("tokenizer_config.json", "[" * 200_000, "malformed", "nested too deeply"),
    "deep JSON that parses": (
        "tokenizer_config.json",
        '{"a":' * 600 + "1" + "}" * 600,
        "malformed",
        "nested too deeply",
    ),
    "half a surrogate pair": ("tokenizer_config.json", '{"chat_template": "a\\ud800"}', "malformed", "at character 1"),
    "broken generation config": (
        "generation_config.json",
        "{",
        "malformed",
        "is not valid JSON: .* at line 1",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_file(case: str, tmp_path: Path) -> None:
    name, content, kind, message = BROKEN[case]
    with pytest.raises(CannotCheckError, match=message) as caught:
        load(write(tmp_path, {"tokenizer_config.json": {}, name: content}))
    assert caught.value.kind == kind
    assert str(caught.value).startswith(name) and "\n" not in str(caught.value)


def test_a_template_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    source = "x" * files.MAX_SOURCE_BYTES
    assert load(write(tmp_path, {"chat_template.jinja": source})).templates[0].source == source


def test_no_more_is_read_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    with path.open("wb") as handle:
        handle.truncate(1 << 40)
    with pytest.raises(CannotCheckError, match="1,099,511,627,776 bytes"):
        load(path)


def test_a_file_that_went_away(tmp_path: Path) -> None:
    target = Target(text="x.jinja", kind=TargetKind.FILE, path=tmp_path / "x.jinja")
    with pytest.raises(UsageError, match="no such file"):
        load_snapshot(target)


def test_what_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"chat_template.jinja": "J"})
    original = Path.open

    def refuse(self: Path, *args: Any, **kwargs: Any) -> Any:
        if self.name == "chat_template.jinja":
            raise PermissionError(13, "Permission denied")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(CannotCheckError, match=r"cannot read chat_template.jinja: Permission denied\.") as caught:
        load(tmp_path)
    assert caught.value.kind == "unreadable"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_a_model_folder_is_no_file(tmp_path: Path) -> None:
    write(tmp_path, {"tokenizer_config.json": {"chat_template": "C"}})
    os.mkfifo(tmp_path / "chat_template.jinja")
    assert [template.source for template in load(tmp_path).templates] == ["C"]


def test_hub_snapshot_is_the_downloaded_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"chat_template.jinja": "J"})
    asked: list[tuple[Any, ...]] = []

    def fetch(repo: str, revision: str | None, *, offline: bool) -> SimpleNamespace:
        asked.append((repo, revision, offline))
        return SimpleNamespace(folder=tmp_path, commit="0" * 40, files=["chat_template.jinja"])

    fake = ModuleType("template_lint.snapshot.hub")
    fake.fetch = fetch  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "template_lint.snapshot.hub", fake)
    monkeypatch.setattr(sys.modules["template_lint.snapshot"], "hub", fake, raising=False)
    snapshot = load_snapshot(parse_target("hf:org/name@v1"), offline=True)
    assert asked == [("org/name", "v1", True)]
    assert (snapshot.repo, snapshot.revision) == ("org/name", "0" * 40)
    assert snapshot.templates[0].file == "chat_template.jinja"


def test_start_up_stays_light(tmp_path: Path) -> None:
    import subprocess

    path = tmp_path / "x.jinja"
    path.write_text("x")
    code = (
        "import sys\n"
        "from template_lint.target import parse_target\n"
        "from template_lint.snapshot.load import expand_targets, load_snapshot\n"
        f"load_snapshot(expand_targets(parse_target({str(path)!r}))[0])\n"
        "print([name for name in ('json', 'mmap', 'transformers', 'tokenizers', 'huggingface_hub', 'numpy') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
