"""The pre-commit hooks, run by pre-commit itself on throwaway model repositories, without network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.inputs import corpus_dir
from tests.integrations.composite import ROOT
from tests.integrations.offline_pip import OFFLINE_PIP, needs_hatchling

HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
BROKEN = (ROOT / "examples" / "broken.jinja").read_text(encoding="utf-8")
FIXED = (ROOT / "examples" / "fixed.jinja").read_text(encoding="utf-8")

Try = Callable[..., "subprocess.CompletedProcess[str]"]

needs_pre_commit = pytest.mark.skipif(
    shutil.which("pre-commit", path=str(Path(sys.executable).parent)) is None,
    reason="pre-commit is not installed; pip install '.[test]'",
)
needs_git = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit takes hooks from a git repository")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """An empty git repository."""
    path = tmp_path / "model"
    path.mkdir()
    subprocess.run(["git", "init", "--quiet", path], check=True)
    return path


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps its environments."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def hook(model: Path, store: Path) -> Try:
    """Run one hook on all files of the model repository, as ``pre-commit try-repo`` does."""

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        subprocess.run(["git", "add", "--all"], cwd=model, check=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "pre_commit",
                "try-repo",
                str(ROOT),
                name,
                "--all-files",
                "--color=never",
                *arguments,
            ],
            cwd=model,
            env={**environment, **OFFLINE_PIP, "PRE_COMMIT_HOME": str(store)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@needs_hatchling
@needs_pre_commit
@needs_git
class TestTemplates:
    """The hook ``template-lint``."""

    def test_a_broken_template_fails(self, hook: Try, model: Path) -> None:
        (model / "chat_template.jinja").write_text(BROKEN, encoding="utf-8")
        done = hook("template-lint")
        assert done.returncode == 1, done.stdout
        assert "TL101" in done.stdout
        line = BROKEN[: BROKEN.index("loop.last")].count("\n") + 1
        assert f"chat_template.jinja:{line}:12" in done.stdout

    def test_a_fixed_template_passes(self, hook: Try, model: Path) -> None:
        (model / "chat_template.jinja").write_text(FIXED, encoding="utf-8")
        done = hook("template-lint")
        assert done.returncode == 0, done.stdout
        assert "Passed" in done.stdout

    def test_an_embedded_template_is_looked_at(self, hook: Try, model: Path) -> None:
        (model / "tokenizer_config.json").write_text(json.dumps({"chat_template": BROKEN}), encoding="utf-8")
        assert hook("template-lint").returncode == 1

    def test_other_files_are_not(self, hook: Try, model: Path) -> None:
        (model / "config.json").write_text("{}", encoding="utf-8")
        (model / "page.jinja").write_text("{% endfor %}", encoding="utf-8")
        done = hook("template-lint")
        assert done.returncode == 0
        assert "no files to check" in done.stdout

    def test_the_qwen3_template_fails_and_its_repair_passes(self, hook: Try, model: Path, tmp_path: Path) -> None:
        source = (corpus_dir() / "Qwen-Qwen3-0.6B.jinja").read_text(encoding="utf-8")
        (model / "chat_template.jinja").write_text(source, encoding="utf-8")
        assert hook("template-lint").returncode == 1
        subprocess.run(
            [sys.executable, "-m", "template_lint", "fix", "chat_template.jinja", "--in-place"], cwd=model, check=True
        )
        done = hook("template-lint")
        assert done.returncode == 0, done.stdout


@needs_hatchling
@needs_pre_commit
@needs_git
def test_the_lock_hook_leaves_a_repository_without_lock_alone(hook: Try, model: Path) -> None:
    (model / "README.md").write_text("nothing\n", encoding="utf-8")
    assert hook("template-lint-lock").returncode == 0


@needs_hatchling
@needs_pre_commit
@needs_git
def test_the_lock_hook_fails_on_a_lock_that_does_not_parse(hook: Try, model: Path) -> None:
    (model / "template-lint.lock").write_text("version: [\n", encoding="utf-8")
    done = hook("template-lint-lock")
    assert done.returncode != 0
    assert "template-lint.lock" in done.stdout


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("chat_template.jinja", True),
        ("models/a b/chat_template.j2", True),
        ("chat_template.json", True),
        ("additional_chat_templates/tool_use.jinja", True),
        ("templates_patched/qwen3_training.jinja", True),
        ("x/tokenizer_config.json", True),
        ("config.json", False),
        ("my_chat_template.jinja", False),
        ("templates/page.jinja", False),
        ("model.gguf", False),
    ],
)
def test_the_hook_is_given_template_files_only(path: str, matches: bool) -> None:
    identify = pytest.importorskip("identify.identify", reason="comes with pre-commit")
    hook = HOOKS["template-lint"]
    tags = identify.tags_from_filename(path)
    assert bool(re.search(hook["files"], path) and tags & set(hook["types_or"])) is matches


def test_the_manifest_names_three_hooks() -> None:
    assert list(HOOKS) == ["template-lint", "template-lint-lock", "template-lint-drift"]
    assert HOOKS["template-lint-drift"]["stages"] == ["manual"]
