"""Whatever a Hub does wrong: one line, exit 3, never green; what passes by itself is waited for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from template_lint.cli.support.program import program
from template_lint.snapshot import hub as hub_module
from template_lint.snapshot.hub_http import Limits
from tests.hubserver import HubServer
from tests.lock.faults import CASES, REPO, Case, prepare
from tests.lock.toys import model

TOKEN = "hf_notARealToken"


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_fault_is_one_line_and_never_green(
    hub: HubServer, project: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    limits = Limits(silence=0.5, pauses=(0.0, 0.0, 0.0), first_answer=2.0, longest_wait=5.0)
    monkeypatch.setattr(hub_module, "LIMITS", limits)
    prepare(hub, case)
    started = time.monotonic()
    result = CliRunner().invoke(program, ["--debug", "lock", REPO], env={"COLUMNS": "1000"})
    assert time.monotonic() - started < 30
    assert result.exit_code == case.code, result.output
    lines = [line for line in result.stdout.splitlines() if line.startswith("NOT CHECKED ")]
    assert len(lines) == (case.code == 3)
    assert case.said in " ".join(result.stdout.split())
    assert TOKEN not in result.output and "Traceback" not in result.output
    assert (project / "template-lint.lock").exists() is (case.code == 0)


@pytest.mark.parametrize("count", [1, 50])
def test_a_dead_endpoint_answers_within_ten_seconds(hub: HubServer, project: Path, count: int) -> None:
    names = [f"org/model-{number}" for number in range(count)]
    for name in names:
        hub.add(name, model())
    hub.stop()
    started = time.monotonic()
    result = CliRunner().invoke(program, ["lock", *names], env={"COLUMNS": "1000"})
    assert time.monotonic() - started < 10
    assert result.exit_code == 3 and result.stdout.count("NOT CHECKED") == count
