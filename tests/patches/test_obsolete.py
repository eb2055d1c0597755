"""A model whose own template has become right: check and fix say that its training template is no longer needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint import engine
from template_lint.config import Options
from template_lint.facts import TemplateFacts
from template_lint.patches.fixing import fix
from template_lint.patches.index import read_source
from template_lint.patches.lookup import patch_by_model
from template_lint.patches.training import obsolete
from template_lint.rendering.profiles import parse_profile
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.target import Target, TargetKind

PROFILE = parse_profile("5.24")
REPO = "Qwen/Qwen3-8B"
RIGHT = read_source("qwen3") + "{#- published by the vendor #}{{ '' }}"


def facts(source: str, repo: str | None) -> TemplateFacts:
    target = Target(text=repo or "-", kind=TargetKind.HUB if repo else TargetKind.STDIN, repo=repo)
    copy = TemplateCopy(name="default", source=source, file="chat_template.jinja")
    snapshot = Snapshot(target=target, files={}, templates=(copy,), copies=(copy,), repo=repo)
    return TemplateFacts(source, PROFILE, snapshot=snapshot)


def test_the_library_knows_the_model() -> None:
    assert patch_by_model("qwen/qwen3-8b") == "qwen3"
    assert patch_by_model("someone/else") is None


def test_a_right_template_of_the_model_makes_the_patch_obsolete() -> None:
    assert obsolete(facts(RIGHT, REPO)) == "qwen3"


@pytest.mark.parametrize("repo", [None, "someone/else"])
def test_nothing_is_said_about_other_models(repo: str | None) -> None:
    assert obsolete(facts(RIGHT, repo)) is None


def test_the_training_template_itself_is_not_obsolete() -> None:
    assert obsolete(facts(read_source("qwen3"), REPO)) is None


def test_a_template_that_still_lacks_markers_needs_it() -> None:
    bare = RIGHT.replace("{%- generation %}", "").replace("{%- endgeneration %}", "")
    assert bare != RIGHT
    assert obsolete(facts(bare, REPO)) is None


def test_fix_says_so() -> None:
    fixed = fix(facts(RIGHT, REPO))
    assert fixed.origin is None
    assert fixed.reason.startswith("the library's qwen3 is no longer needed")


def test_check_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "chat_template.jinja").write_text(RIGHT, encoding="utf-8")
    load = engine.load_snapshots

    def of_the_hub(*args: Any, **options: Any) -> Any:
        return [snapshot._replace(repo=REPO) for snapshot in load(*args, **options)]

    monkeypatch.setattr(engine, "load_snapshots", of_the_hub)
    report = engine.check([str(tmp_path)], Options(transformers="5.24", cache=False, jobs=1))
    verdict = report.targets[0].templates[0].verdict
    assert (verdict.patch, verdict.obsolete_patch) == (None, "qwen3")
