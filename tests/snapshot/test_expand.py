"""expand_targets(): a folder of templates stands for the files and model folders beneath it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.load import expand_targets
from template_lint.target import TargetKind, parse_target
from tests.snapshot.folders import write


def expanded(folder: Path) -> list[tuple[str, TargetKind]]:
    targets = expand_targets(parse_target(str(folder)))
    assert all(target.text == target.path.as_posix() for target in targets if target.path)
    return [(target.path.relative_to(folder).as_posix(), target.kind) for target in targets if target.path]


def test_files_and_model_folders_sorted(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "b.jinja": "",
            "a.j2": "",
            "deep/er/c.jinja2": "",
            "deep/model.gguf": b"GGUF",
            "model/tokenizer_config.json": {},
            "model/inside.jinja": "",
            "model/other/d.jinja": "",
            "legacy/chat_template.json": {},
            "processor/processor_config.json": {},
            "extra/additional_chat_templates/rag.jinja": "",
            "text/chat_template.jinja": "",
            "notes.txt": "",
            ".hidden.jinja": "",
            ".git/x.jinja": "",
            ".venv/x.jinja": "",
            "node_modules/x.jinja": "",
        },
    )
    folder, file = TargetKind.DIRECTORY, TargetKind.FILE
    assert expanded(tmp_path) == [
        ("a.j2", file),
        ("b.jinja", file),
        ("deep/er/c.jinja2", file),
        ("deep/model.gguf", TargetKind.GGUF),
        ("extra", folder),
        ("legacy", folder),
        ("model", folder),
        ("processor", folder),
        ("text", folder),
    ]


@pytest.mark.parametrize(
    "name",
    [
        "chat_template.jinja",
        "tokenizer_config.json",
        "chat_template.json",
        "processor_config.json",
        "additional_chat_templates/x.jinja",
    ],
)
def test_a_model_folder_stands_for_itself(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: "", "other.jinja": ""})
    assert expanded(tmp_path) == [(".", TargetKind.DIRECTORY)]


@pytest.mark.parametrize("text", ["-", "hf:org/name"])
def test_what_is_no_folder_stands_for_itself(text: str) -> None:
    target = parse_target(text)
    assert expand_targets(target) == [target]


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"top/a.jinja": "", "elsewhere/b.jinja": ""})
    (tmp_path / "top" / "loop").symlink_to(tmp_path / "top")
    (tmp_path / "top" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "top" / "linked.jinja").symlink_to(tmp_path / "elsewhere" / "b.jinja")
    (tmp_path / "top" / "dangling.jinja").symlink_to(tmp_path / "nowhere")
    assert [name for name, _ in expanded(tmp_path / "top")] == ["a.jinja", "linked.jinja"]


def test_nothing_to_check(tmp_path: Path) -> None:
    write(tmp_path, {"deep/notes.txt": "", ".hidden/x.jinja": ""})
    with pytest.raises(CannotCheckError, match="nothing to check in") as caught:
        expanded(tmp_path)
    assert caught.value.kind == "nothing-matched"


def test_a_folder_that_may_not_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.jinja": "", "locked/b.jinja": ""})
    import os

    original = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(CannotCheckError, match=r"cannot read .*locked: Permission denied") as caught:
        expanded(tmp_path)
    assert caught.value.kind == "unreadable"
