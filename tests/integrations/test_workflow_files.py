"""The action and every workflow we have or hand out: valid by schema, and nothing for a security linter to find."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integrations.composite import ROOT

WORKFLOWS = sorted(
    [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("docs/**/*.yml"), *ROOT.glob("examples/**/*.yml")]
)
FILES = [ROOT / "action.yml", *WORKFLOWS]

pinned = pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())


def tool(name: str) -> str:
    """The path of a tool that the test extra installs."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; pip install '.[test]'")
    return found


def test_there_are_workflows() -> None:
    assert WORKFLOWS


@pinned
def test_zizmor_finds_nothing(file: Path) -> None:
    done = subprocess.run([tool("zizmor"), "--offline", "--no-progress", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pinned
def test_it_is_valid(file: Path) -> None:
    schema = "vendor.github-actions" if file.name == "action.yml" else "vendor.github-workflows"
    done = subprocess.run([tool("check-jsonschema"), "--builtin-schema", schema, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pinned
def test_actions_are_pinned_by_sha(file: Path) -> None:
    for line in file.read_text(encoding="utf-8").splitlines():
        match = re.search(r"uses:\s*(\S+)(.*)", line)
        if match and not match[1].startswith("./") and "template-lint" not in match[1]:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", match[1]), line
            assert re.fullmatch(r"\s+# v\d+\.\d+\.\d+", match[2]), line


@pinned
def test_no_expression_reaches_a_script(file: Path) -> None:
    import yaml

    def scripts(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [value["run"]] if isinstance(value.get("run"), str) else []
            return own + [script for item in value.values() for script in scripts(item)]
        if isinstance(value, list):
            return [script for item in value for script in scripts(item)]
        return []

    for script in scripts(yaml.safe_load(file.read_text(encoding="utf-8"))):
        assert "${{" not in script
