"""Hub models in a gate: TL606 for one that may move, where it is shown, and that its comments silence nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import template_lint
from template_lint.cli.support.program import program
from template_lint.model import Anchor, Report
from tests.hubserver import HubServer
from tests.lock.toys import UNSTABLE, model

REPO = "org/model"
SILENT = "{# template-lint: ignore-file[TL101] trust me #}\n" + UNSTABLE


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    for name in ("home", "project", "project/.git"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "reports"))
    with HubServer() as server:
        server.lead_here(monkeypatch, tmp_path / "home")
        yield server


def run(*args: str) -> Result:
    return CliRunner().invoke(program, args, prog_name="template-lint")


def check(target: str, **options: object) -> Report:
    return template_lint.check(target, jobs=1, transformers="5.24", cache=False, **options)


@pytest.mark.parametrize("named", ["", "@main"])
def test_a_model_that_may_move_is_found(hub: HubServer, named: str) -> None:
    commit = hub.add(REPO, model())
    [finding] = check(REPO + named, select=("TL606",)).targets[0].findings
    assert finding.rule == "TL606"
    assert commit[:12] in finding.message
    assert f"{REPO}@{commit}" in finding.remedy


def test_a_commit_is_a_pin(hub: HubServer) -> None:
    commit = hub.add(REPO, model())
    report = check(f"{REPO}@{commit}", select=("TL606", "TL101"))
    assert report.targets[0].findings == []
    assert check(REPO, select=("TL101",)).targets[0].findings == []


def test_a_lock_is_a_pin_also_where_the_live_model_is_looked_at(hub: HubServer) -> None:
    hub.add(REPO, model())
    assert run("lock", REPO).exit_code == 0
    for args in ([REPO], ["--pinned"], ["--live"]):
        assert "TL606" not in run("check", *args, "-o", "concise", "--jobs", "1").stdout
    Path("sub").mkdir()
    Path("template-lint.lock").rename("sub/other.lock")
    assert " TL606 info " in run("check", REPO, "-o", "concise", "--jobs", "1").stdout
    assert "TL606" not in run("check", REPO, "-o", "concise", "--lock", "sub/other.lock", "--jobs", "1").stdout


def test_a_finding_about_a_model_stands_at_the_line_that_names_it(hub: HubServer) -> None:
    hub.add(REPO, model())
    Path("template-lint.yaml").write_text(f"jobs: 1\ntargets:\n- target: {REPO}\n  ignore: []\n")
    [target] = template_lint.check(config="template-lint.yaml").targets
    assert target.anchor == Anchor("template-lint.yaml", 3)


def test_a_stranger_does_not_silence_the_gate(hub: HubServer) -> None:
    hub.add(REPO, model(SILENT))
    report = check(REPO)
    assert {f.suppressed for f in report.findings if f.rule == "TL101"} == {None}
    assert report.not_honoured == 1
    shown = run("check", REPO, "--jobs", "1")
    assert shown.exit_code == 1
    assert "note: 1 inline ignore is not honoured: no local file of yours; --inline-ignores honours it" in shown.stdout
    trusted = check(REPO, inline_ignores=True)
    assert {f.suppressed for f in trusted.findings if f.rule == "TL101"} == {"inline"}


def test_what_is_said_about_a_model_can_be_accepted(hub: HubServer) -> None:
    hub.add(REPO, model(UNSTABLE))
    ignore = "  ignore:\n  - rules: [TL606, TL101]\n    reason: follows main on purpose\n"
    Path("template-lint.yaml").write_text(f"jobs: 1\ntargets:\n- target: {REPO}\n{ignore}")
    result = run("check", "-o", "concise")
    assert result.exit_code == 0
    assert "TL606" not in result.stdout
    assert "2 findings suppressed (configuration)" in result.stderr
    first = run("check", "--isolated", REPO, "--baseline", "known.json", "--update-baseline", "-o", "concise")
    assert first.exit_code == 0
    assert '"target": "hf:org/model", "rule": "TL606"' in Path("known.json").read_text()
    assert "no findings" in run("check", "--isolated", REPO, "--baseline", "known.json", "-o", "concise").stderr
