"""The fetch script against tiny archives: what it refuses, and that a refusal leaves nothing behind."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import inputs

script = inputs.load_script()


def wheel(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def tarball(path: Path, members: list[tarfile.TarInfo], text: bytes = b"x") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            member.size = len(text) if member.isreg() else 0
            archive.addfile(member, io.BytesIO(text) if member.isreg() else None)
    return path


def item_for(archive: Path, **changes: Any) -> Any:
    values = {
        "name": "corpus",
        "registry": "pypi",
        "requirement": "demo==1",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "members": (("pkg/models", "*.json"),),
    }
    return script.Input(**(values | changes))


def handing_out(archive: Path) -> Callable[[Any, Path], Path]:
    return lambda _item, folder: Path(shutil.copy(archive, folder))


def assert_refused(item: Any, archive: Path, root: Path, message: str) -> None:
    with pytest.raises(script.FetchError, match=message):
        script.fetch(item, root, handing_out(archive))
    assert sorted(root.rglob("*")) == []
    assert not script.is_current(item, root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "inputs"


def test_unpacks_only_the_named_files(tmp_path: Path, root: Path) -> None:
    archive = wheel(
        tmp_path / "demo.whl",
        {"pkg/models/a.json": "{}", "pkg/models/code.py": "", "pkg/models/deep/b.json": "", "other/models/c.json": ""},
    )
    item = item_for(archive)
    assert script.fetch(item, root, handing_out(archive)) == 1
    assert sorted(path.name for path in (root / "corpus").iterdir()) == [".archive-sha256", "a.json"]
    assert [path.name for path in root.iterdir()] == ["corpus"]
    assert script.is_current(item, root)


def test_an_older_version_is_replaced_whole(tmp_path: Path, root: Path) -> None:
    old = wheel(tmp_path / "old.whl", {"pkg/models/old.json": "1"})
    new = wheel(tmp_path / "new.whl", {"pkg/models/new.json": "2"})
    script.fetch(item_for(old), root, handing_out(old))
    assert not script.is_current(item_for(new), root)
    script.fetch(item_for(new), root, handing_out(new))
    assert sorted(path.name for path in (root / "corpus").glob("*.json")) == ["new.json"]


def test_wrong_hash(tmp_path: Path, root: Path) -> None:
    archive = wheel(tmp_path / "demo.whl", {"pkg/models/a.json": "{}"})
    assert_refused(item_for(archive, sha256="0" * 64), archive, root, f"expected {'0' * 64}")


@pytest.mark.parametrize("name", ["../pkg/models/a.json", "pkg/models/../../../a.json", "/pkg/models/a.json"])
def test_path_outside_the_archive(tmp_path: Path, root: Path, name: str) -> None:
    archive = wheel(tmp_path / "demo.whl", {"pkg/models/good.json": "{}", name: "{}"})
    assert_refused(item_for(archive), archive, root, "a path outside itself")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_only_regular_files(tmp_path: Path, root: Path, kind: bytes) -> None:
    good, link = tarfile.TarInfo("pkg/models/a.json"), tarfile.TarInfo("pkg/models/b.json")
    link.type, link.linkname = kind, "/etc/passwd"
    archive = tarball(tmp_path / "demo.tgz", [good, link])
    assert_refused(item_for(archive), archive, root, "not a regular file")


def test_symlink_in_a_wheel(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "demo.whl"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("pkg/models/a.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert_refused(item_for(path), path, root, "not a regular file")


def test_cut_archive(tmp_path: Path, root: Path) -> None:
    whole = tarball(tmp_path / "demo.tgz", [tarfile.TarInfo("pkg/models/a.json")], os.urandom(50_000))
    whole.write_bytes(whole.read_bytes()[:10_000])
    assert_refused(item_for(whole), whole, root, "cannot be read")


def test_archive_without_the_expected_files(tmp_path: Path, root: Path) -> None:
    archive = wheel(tmp_path / "demo.whl", {"pkg/other.json": "{}"})
    assert_refused(item_for(archive), archive, root, "none of the expected files")


def test_second_run_downloads_nothing(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = wheel(tmp_path / "demo.whl", {"pkg/models/a.json": "{}"})
    calls: list[str] = []

    def run(command: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        calls.append(command[-1])
        shutil.copy(archive, command[command.index("--dest") + 1])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(script, "INPUTS", (item_for(archive),))
    monkeypatch.setattr(script.subprocess, "run", run)
    assert script.main(["--dir", str(root)]) == 0
    assert script.main(["--dir", str(root)]) == 0
    assert calls == ["demo==1"]
    assert capsys.readouterr().out.splitlines()[-1] == f"nothing to do: 1 inputs are in {root}"


def test_a_failed_download_is_one_line_and_exit_1(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = wheel(tmp_path / "demo.whl", {"pkg/models/a.json": "{}"})
    failed = subprocess.CompletedProcess([], 1, "", "noise\nERROR: no such version")
    monkeypatch.setattr(script, "INPUTS", (item_for(archive),))
    monkeypatch.setattr(script.subprocess, "run", lambda *_args, **_options: failed)
    assert script.main(["--dir", str(root)]) == 1
    assert capsys.readouterr().err == "error: corpus: pip could not fetch demo==1: ERROR: no such version\n"


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TEMPLATE_LINT_INPUTS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert script.default_folder() == tmp_path / "template-lint" / "inputs"
    monkeypatch.setenv("TEMPLATE_LINT_INPUTS", str(tmp_path / "named"))
    assert script.default_folder() == tmp_path / "named"


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_missing_input_skips_and_fails_in_ci(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("TEMPLATE_LINT_INPUTS", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match=r"fetch_inputs\.py --only tokenizers/qwen3"):
        inputs.tokenizer_dir("qwen3")


def test_help_runs_as_a_script() -> None:
    command = [sys.executable, str(inputs.SCRIPT), "--help"]
    assert "corpus, trl, sarif" in subprocess.run(command, capture_output=True, text=True).stdout
