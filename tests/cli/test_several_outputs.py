"""Several outputs of one run: each is whole, in its own place, and they tell of the same findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from junitparser import JUnitXml

from template_lint.model import Report
from tests.cli.conftest import Engine
from tests.report.samples import full_report, report, unchecked

Run = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


OUTPUTS = ("--output", "text", "--output", "sarif=x.sarif", "--output", "code-scanning=c.sarif")
MORE = ("--output", "junit=j.xml", "--output", "markdown=s.md", "--output", "concise=c.txt", "--output", "json=r.json")


def test_every_output_goes_to_its_place(run: Run, engine: Engine, here: Path) -> None:
    engine.report = full_report()
    result = run("check", "chat_template.jinja", *OUTPUTS, *MORE)
    assert result.exit_code == 1, result.output
    assert "\nchecked 1 template: 1 error, 1 warning, 1 info" in result.stdout
    logs = [json.loads((here / name).read_text(encoding="utf-8")) for name in ("x.sarif", "c.sarif")]
    assert [len(log["runs"][0]["results"]) for log in logs] == [4, 3]
    assert JUnitXml.fromfile(str(here / "j.xml")).failures == 2
    assert (here / "s.md").read_text(encoding="utf-8").startswith("## ❌ 1 error in 1 template\n")
    assert len((here / "c.txt").read_text(encoding="utf-8").splitlines()) == 3
    assert json.loads((here / "r.json").read_text(encoding="utf-8"))["summary"]["errors"] == 1
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    run("check", "chat_template.jinja", *OUTPUTS, *MORE)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_annotations_go_to_standard_output_and_talk_does_not(run: Run, engine: Engine, here: Path) -> None:
    engine.report = full_report()
    result = run("check", "chat_template.jinja", "--output", "github")
    assert [line.split(" ")[0] for line in result.stdout.splitlines()] == [
        *("::error", "::warning", "::notice"),
        "template-lint:",
    ]
    assert "::" not in result.stderr


@pytest.mark.parametrize("name", ["sarif", "code-scanning", "junit", "github", "markdown"])
def test_no_output_makes_a_run_green_that_could_not_look(run: Run, engine: Engine, here: Path, name: str) -> None:
    subject: Report = report(unchecked())
    engine.report = subject
    result = run("check", "acme/gated", "--output", name)
    assert result.exit_code == 3
    assert "access is restricted" in result.stdout
