"""The GitHub Action, step by step in throwaway repositories, with bash as the runner runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hubserver import SERVER_ERROR, HubServer
from tests.integrations.composite import ROOT, Outcome, run_action
from tests.integrations.offline_pip import OFFLINE_PIP, needs_hatchling

pytestmark = [
    needs_hatchling,
    pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="no bash to run the steps"),
]

BROKEN = (ROOT / "examples" / "broken.jinja").read_text(encoding="utf-8")
LINE = BROKEN[: BROKEN.index("loop.last")].count("\n") + 1
FIXED = (ROOT / "examples" / "fixed.jinja").read_text(encoding="utf-8")

Act = Callable[..., Outcome]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one template."""
    path = tmp_path / "a model repository"
    path.mkdir()
    subprocess.run(["git", "init", "--quiet", path], check=True)
    (path / "chat_template.jinja").write_text(BROKEN, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the environment that the action's install step made, once for all tests."""
    scratch = tmp_path_factory.mktemp("runner")
    empty = tmp_path_factory.mktemp("empty")
    outcome = run_action(empty, scratch, environment=OFFLINE_PIP)
    assert outcome.steps[0].code == 0, outcome.steps[0].log
    assert "template-lint" in outcome.steps[0].log
    return scratch / "template-lint" / "environment"


@pytest.fixture
def act(repository: Path, installed: Path, tmp_path: Path) -> Act:
    """Run the action in the repository, with what its install step made."""
    scratch = tmp_path / "runner"
    (scratch / "template-lint").mkdir(parents=True)
    (scratch / "template-lint" / "environment").symlink_to(installed)

    def run(**inputs: str) -> Outcome:
        environment = {**OFFLINE_PIP, "TEMPLATE_LINT_CACHE": str(tmp_path / "cache"), **inputs.pop("environment", {})}
        return run_action(repository, scratch, environment=environment, skip=["install"], **inputs)

    return run


def test_a_broken_template_fails_after_everything_is_reported(act: Act) -> None:
    outcome = act(sarif="true")
    assert outcome.code == 1
    assert [step.code for step in outcome.steps] == [0, 1], "only the last step fails"
    log = outcome.log("Check")
    assert f"::error file=chat_template.jinja,line={LINE},endLine={LINE},col=12" in log
    assert "TL101" in log
    assert "TL101" in outcome.summary
    assert outcome.outputs["exit-code"] == "1"
    assert int(outcome.outputs["errors"]) == 1
    assert outcome.outputs["drifted"] == "false"
    sarif = json.loads(Path(outcome.outputs["sarif-file"]).read_text(encoding="utf-8"))
    assert sarif["version"] == "2.1.0"
    report = json.loads(Path(outcome.outputs["json-file"]).read_text(encoding="utf-8"))
    assert report["summary"]["errors"] == 1
    assert "TL101" in Path(outcome.outputs["summary-file"]).read_text(encoding="utf-8")
    assert any(action.startswith("github/codeql-action/upload-sarif@") for action in outcome.used)


def test_a_good_template_passes(act: Act, repository: Path) -> None:
    (repository / "chat_template.jinja").write_text(FIXED, encoding="utf-8")
    outcome = act()
    assert outcome.code == 0, outcome.log("Check")
    assert outcome.outputs["exit-code"] == "0"
    assert outcome.outputs["errors"] == "0"
    assert not any(action.startswith("github/codeql-action") for action in outcome.used), "sarif is off by default"


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0), ("drift", 0), ("error,drift", 1)]
)
def test_it_fails_only_where_fail_on_says(act: Act, fail_on: str, code: int) -> None:
    outcome = act(fail_on=fail_on)
    assert outcome.code == code
    assert outcome.outputs["exit-code"] == str(code)
    assert outcome.outputs["errors"] == "1", "outputs are set whatever fails"


@pytest.mark.parametrize(
    ("configuration", "code"),
    [
        ("fail-on: warning\nseverity: {TL101: warning}\n", 1),
        ("severity: {TL101: warning}\n", 0),
        ("fail-on: never\n", 0),
    ],
)
def test_without_fail_on_the_configuration_decides(act: Act, repository: Path, configuration: str, code: int) -> None:
    (repository / "template-lint.yaml").write_text(configuration, encoding="utf-8")
    outcome = act()
    assert outcome.code == code, outcome.log("Check")


def test_without_min_severity_the_configuration_decides(act: Act, repository: Path) -> None:
    (repository / "template-lint.yaml").write_text("min-severity: error\n", encoding="utf-8")
    assert "TL401" not in act().log("Check")
    assert "TL401" in act(min_severity="info").log("Check")


def test_switches_turn_reports_off(act: Act) -> None:
    outcome = act(annotations="false", summary="false")
    assert "::error" not in outcome.log("Check").replace("::stop-commands", "")
    assert outcome.summary == ""
    assert outcome.outputs["summary-file"], "the file is there all the same"


def test_a_selection_reaches_the_linter(act: Act) -> None:
    outcome = act(ignore="TL1")
    assert outcome.outputs["errors"] == "0"
    assert outcome.code == 0


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"paths": "--output=json=evil.json"}, "looks like an option"),
        ({"paths": "'unbalanced"}, "input paths"),
        ({"fail_on": "sometimes"}, "input fail-on"),
        ({"annotations": "perhaps"}, "input annotations"),
        ({"lock": "no-such.lock"}, "no lock file"),
        ({"check_drift": "true"}, "no lock file"),
        ({"select": "TL999"}, "unknown rule"),
        ({"config": "no-such.yaml"}, "no-such.yaml"),
        ({"paths": "no-such-folder/"}, "no-such-folder"),
    ],
)
def test_wrong_inputs_are_said_and_fail_the_job(act: Act, inputs: dict[str, str], said: str) -> None:
    outcome = act(**inputs)
    assert outcome.code == 2
    assert outcome.outputs["exit-code"] == "2"
    assert set(outcome.outputs) == {
        *("exit-code", "findings", "errors", "drifted"),
        *("sarif-file", "json-file", "summary-file"),
    }
    assert said in outcome.log("Check")


class TestDrift:
    """A lock, and a Hub on the loopback address that has moved on."""

    @pytest.fixture
    def hub(self) -> Iterator[HubServer]:
        with HubServer() as hub:
            hub.add("acme/model", {"chat_template.jinja": FIXED})
            yield hub

    @pytest.fixture
    def environment(self, hub: HubServer, repository: Path, tmp_path: Path) -> dict[str, str]:
        (repository / "chat_template.jinja").write_text(FIXED, encoding="utf-8")
        environment = {"HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "hf")}
        subprocess.run(
            [sys.executable, "-m", "template_lint", "lock", "acme/model"],
            cwd=repository,
            env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
            check=True,
        )
        return environment

    def test_nothing_moved(self, act: Act, environment: dict[str, str]) -> None:
        outcome = act(check_drift="true", environment=environment)
        assert outcome.code == 0, outcome.log("Check")
        assert outcome.outputs["drifted"] == "false"

    @pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("error,drift", 1), ("drift", 1), ("never", 0)])
    def test_a_model_moved(
        self, act: Act, hub: HubServer, environment: dict[str, str], fail_on: str, code: int
    ) -> None:
        hub.add("acme/model", {"chat_template.jinja": BROKEN})
        outcome = act(check_drift="true", fail_on=fail_on, environment=environment)
        assert outcome.outputs["drifted"] == "true"
        assert outcome.code == code, outcome.log("Check")
        assert "acme/model" in outcome.summary
        assert "TL604" in outcome.summary

    def test_a_hub_that_is_down_is_not_green(self, act: Act, hub: HubServer, environment: dict[str, str]) -> None:
        hub.fault("*", SERVER_ERROR)
        outcome = act(check_drift="true", environment=environment)
        assert outcome.code == 3, outcome.log("Check")
        assert outcome.outputs["drifted"] == "false"

    def test_a_bumped_revision_with_stale_digests_names_the_command(
        self, act: Act, repository: Path, environment: dict[str, str]
    ) -> None:
        lock = repository / "template-lint.lock"
        text = lock.read_text(encoding="utf-8")
        lock.write_text(re.sub(r"revision: [0-9a-f]{40}", f"revision: {'0' * 40}", text), encoding="utf-8")
        outcome = act(environment=environment)
        assert outcome.code != 0
        assert "template-lint lock" in outcome.log("Check")


HOSTILE = [
    "$(touch PWNED)",
    "`touch PWNED`",
    "; touch PWNED",
    "&& touch PWNED",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    "x\ntouch PWNED",
    "${{ github.token }}",
    "::error::PWNED",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", ["paths", "lock", "select", "baseline", "config", "transformers", "fail_on"])
def test_shell_metacharacters_in_inputs_do_nothing(act: Act, repository: Path, name: str, text: str) -> None:
    outcome = act(**{name: text}, environment={"GITHUB_HEAD_REF": text, "GITHUB_REF_NAME": text})
    assert not list(repository.rglob("PWNED*"))
    assert outcome.outputs["exit-code"] in ("1", "2")
    assert commands(outcome.log("Check")) <= {"error", "warning", "notice"}
    assert not any("PWNED" in line for line in live_lines(outcome.log("Check")) if line.startswith("::error::"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_model_folder_with_such_a_name_is_just_a_folder(act: Act, repository: Path, text: str) -> None:
    (repository / "chat_template.jinja").unlink()
    folder = repository / text.replace("/", "-")
    folder.mkdir()
    (folder / "chat_template.jinja").write_text(BROKEN, encoding="utf-8")
    outcome = act()
    assert not list(repository.rglob("PWNED"))
    assert outcome.outputs["errors"] == "1"
    assert commands(outcome.log("Check")) <= {"error", "warning", "notice"}


def test_a_template_cannot_speak_to_the_runner(act: Act, repository: Path) -> None:
    hostile = "::error::PWNED%0A::add-mask::x\n##[error]PWNED\n"
    (repository / "chat_template.jinja").write_text(hostile + BROKEN, encoding="utf-8")
    outcome = act()
    for line in live_lines(outcome.log("Check")):
        assert "##[" not in line
        assert not line.startswith("::error::PWNED")
    assert commands(outcome.log("Check")) <= {"error", "warning", "notice"}


def live_lines(log: str) -> list[str]:
    """The lines of a log that the runner would look at for commands, those between stop and resume left out."""
    lines, stopped = [], None
    for line in log.splitlines():
        if stopped is not None:
            stopped = None if line == f"::{stopped}::" else stopped
        elif line.startswith("::stop-commands::"):
            stopped = line.removeprefix("::stop-commands::")
        else:
            lines.append(line.lstrip())
    assert stopped is None, "the runner would ignore everything that follows"
    return lines


def commands(log: str) -> set[str]:
    """The workflow commands that a runner would carry out."""
    return {line[2:].partition("::")[0].partition(" ")[0] for line in live_lines(log) if line.startswith("::")}
