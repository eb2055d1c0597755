"""parse_target(): the kind of every word a user may type."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.errors import UsageError
from template_lint.target import TargetKind, parse_target


def test_existing_paths_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "name").mkdir(parents=True)
    (tmp_path / "x.jinja").touch()
    (tmp_path / "m.GGUF").touch()
    (tmp_path / "org@v1").touch()
    kinds = {text: parse_target(text).kind for text in ("org/name", "x.jinja", "m.GGUF", "org@v1", ".")}
    assert kinds == {
        "org/name": TargetKind.DIRECTORY,
        "x.jinja": TargetKind.FILE,
        "m.GGUF": TargetKind.GGUF,
        "org@v1": TargetKind.FILE,
        ".": TargetKind.DIRECTORY,
    }
    target = parse_target("x.jinja")
    assert (target.text, target.path, target.repo) == ("x.jinja", Path("x.jinja"), None)


@pytest.mark.parametrize(
    ("text", "repo", "revision"),
    [
        ("org/name", "org/name", None),
        ("org/name@main", "org/name", "main"),
        ("org/name@refs/pr/1", "org/name", "refs/pr/1"),
        ("org/name@v1.json", "org/name", "v1.json"),
        ("hf:org/name@0a1b", "org/name", "0a1b"),
        ("hf:gpt2", "gpt2", None),
        ("Org_1/na.me-2", "Org_1/na.me-2", None),
    ],
)
def test_hub(text: str, repo: str, revision: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = parse_target(text)
    assert (target.kind, target.repo, target.revision) == (TargetKind.HUB, repo, revision)
    assert target.path is None


def test_standard_input() -> None:
    assert parse_target("-").kind is TargetKind.STDIN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the target is empty"),
        ("  ", "the target is empty"),
        ("missing.jinja", "no such file or folder: 'missing.jinja'"),
        ("folder/missing.jinja", "no such file or folder"),
        ("./org/name", "no such file or folder"),
        ("/org/name", "no such file or folder"),
        ("~/name", "no such file or folder"),
        ("a/b/c", "no such file or folder"),
        ("name", "no such file or folder"),
        ("models/", "no such file or folder"),
        ("org/name@", "is not a Hub repository name"),
        ("org/name@a@b", "is not a Hub repository name"),
        ("org/na--me", "is not a Hub repository name"),
        ("org/name@../x", "is not a Hub repository name"),
        ("hf:", "is not a Hub repository name"),
        ("hf:a/b/c", "is not a Hub repository name"),
        ("hf:" + "x" * 97, "is not a Hub repository name"),
        ("x" * 5000, "cannot look at|no such file"),
        ("a\0b", "no such file or folder"),
    ],
)
def test_wrong_words(text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        parse_target(text)
