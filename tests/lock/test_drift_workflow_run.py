"""The scripts of the workflow's last job, run as a runner does, against a Hub whose model changes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from template_lint.lock.reading import read_lock
from tests.hubserver import GATED, NO_REVISION, HubServer
from tests.lock.toys import STABLE, UNSTABLE, model

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "drift.yml"
REPO = "org/model"
COMMAND = f"""#!{sys.executable}
from template_lint.cli import main
main()
"""


class Runner(NamedTuple):
    """A machine that runs steps: the project's folder, a Hub, and the files that a runner offers to a step."""

    folder: Path
    hub: HubServer
    variables: dict[str, str]

    def step(self, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script of a step as GitHub does where no shell is named."""
        loaded: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
        [script] = [step["run"] for step in loaded["jobs"]["propose"]["steps"] if step.get("name") == name]
        return subprocess.run(
            ["bash", "-e", "-c", script],
            env={**self.variables, **variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def lock(self, *words: str) -> None:
        """Run ``template-lint lock``."""
        program = Path(self.variables["PATH"].split(os.pathsep)[0]) / "template-lint"
        subprocess.run([str(program), "lock", *words], env=self.variables, cwd=self.folder, check=True)

    def compare(self) -> str:
        """The first step: the exit code that it hands on."""
        done = self.step("Compare what is pinned with what the Hub serves now")
        assert done.returncode == 0, done.stderr
        codes: list[str] = re.findall(r"code=(\d)", Path(self.variables["GITHUB_OUTPUT"]).read_text(encoding="utf-8"))
        return codes[-1]

    def verdict(self, code: str) -> int:
        """The last step: what the job ends with."""
        return self.step("Fail where something could not be compared", CODE=code).returncode

    @property
    def report(self) -> str:
        return (Path(self.variables["RUNNER_TEMP"]) / "report.md").read_text(encoding="utf-8")

    def pinned(self) -> str | None:
        [entry] = read_lock(self.folder / "template-lint.lock").entries
        return entry.revision


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    for name in ("bin", "temp", "project"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "template-lint"
    program.write_text(COMMAND, encoding="utf-8")
    program.chmod(0o755)
    with HubServer() as hub:
        variables = {
            **os.environ,
            **hub.environment(tmp_path / "home"),
            "PATH": os.pathsep.join([str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(tmp_path / "temp"),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        }
        runner = Runner(tmp_path / "project", hub, variables)
        commit = hub.add(REPO, model(STABLE))
        runner.lock(REPO)
        assert runner.pinned() == commit
        yield runner


def test_a_lost_prefix_becomes_a_new_lock_and_a_report(runner: Runner) -> None:
    commit = runner.hub.add(REPO, model(UNSTABLE))
    assert runner.compare() == "1"
    done = runner.step("Write the new lock")
    assert done.returncode == 0, done.stderr
    assert runner.pinned() == commit
    assert "grade 3 of 3, verdict regressed" in runner.report
    loops = runner.report.partition("## Loops on the new files\n\n")[2]
    assert loops.startswith("    No: the buffer will not be what the template renders (TL101).\n")
    assert Path(runner.variables["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8").startswith("# Drift")
    assert runner.verdict("1") == 0
    assert runner.compare() == "0"


def test_a_new_readme_is_not_worth_a_pull_request(runner: Runner) -> None:
    runner.hub.add(REPO, model(STABLE, readme="# News"))
    assert runner.compare() == "0"
    assert "grade 0 of 3" in runner.report
    assert runner.verdict("0") == 0


def test_a_gated_model_fails_the_job(runner: Runner) -> None:
    runner.hub.fault("*/revision/main*", GATED)
    assert runner.compare() == "3"
    assert runner.verdict("3") == 3


def test_a_gated_model_beside_one_that_changed_fails_the_job_too(runner: Runner) -> None:
    runner.hub.add("org/other", model(STABLE))
    runner.lock("org/other")
    runner.hub.add(REPO, model(UNSTABLE))
    runner.hub.fault("*/org/other/revision/main*", GATED)
    assert runner.compare() == "1"
    assert runner.verdict("1") == 3


def test_stored_files_stand_for_a_pin_that_the_hub_has_lost(runner: Runner, tmp_path: Path) -> None:
    runner.lock("--vendor", "vendor")
    pinned = runner.pinned()
    runner.hub.add(REPO, model(UNSTABLE))
    runner.hub.fault(f"*{pinned}*", NO_REVISION)
    fresh = runner._replace(variables={**runner.variables, "HF_HOME": str(tmp_path / "another-home")})
    assert fresh.compare() == "1"
    assert "grade 3 of 3" in fresh.report


def test_a_comparison_that_never_ran_fails_the_job(runner: Runner) -> None:
    assert runner.verdict("") == 2
