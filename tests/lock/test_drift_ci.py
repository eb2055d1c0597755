"""The workflow for users and the recipe for Renovate: they do what they say with the lock that our code writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from template_lint.cli.support.program import program
from template_lint.lock.pins import Pins
from template_lint.lock.reading import parse_lock
from template_lint.lock.writing import dumps
from tests.lock.samples import COMMIT, entry, local, lock

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "docs" / "examples" / "drift.yml"
RECIPE = ROOT / "docs" / "integrations" / "renovate.md"


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return loaded


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_only_the_job_that_opens_a_pull_request_may_write(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] == {}
    permissions = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert permissions == {
        "lock": {"contents": "read"},
        "loop": {"contents": "read"},
        "propose": {"contents": "write", "pull-requests": "write"},
    }
    assert workflow["jobs"]["propose"]["if"] == "github.event_name != 'pull_request'"


def test_every_action_is_pinned_by_commit_with_its_version(workflow: dict[str, Any]) -> None:
    uses = re.findall(r"uses: (.*)", WORKFLOW.read_text(encoding="utf-8"))
    assert len(uses) == sum("uses" in step for step in steps(workflow))
    for use in uses:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), use


def test_no_expression_is_pasted_into_a_script(workflow: dict[str, Any]) -> None:
    assert not [step["run"] for step in steps(workflow) if "${{" in step.get("run", "")]


def test_no_checkout_leaves_its_token_behind(workflow: dict[str, Any]) -> None:
    checkouts = [step for step in steps(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) == len(workflow["jobs"])
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_commands_and_options_of_the_workflow_exist(workflow: dict[str, Any]) -> None:
    scripts = "\n".join(step.get("run", "") for step in steps(workflow)).replace("\\\n", " ")
    commands = re.findall(r"template-lint (diff|lock|tito)\b([^\n|]*)", scripts)
    assert {name for name, _ in commands} == {"diff", "lock", "tito"}
    for name, rest in commands:
        command = program.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None, f"template-lint has no command {name}"
        known = {option for parameter in command.params for option in parameter.opts}
        for option in re.findall(r"(?<![\w$-])--[a-z][a-z-]*", rest):
            assert option in known, f"template-lint {name} has no option {option}"
    assert {"--pinned", "--live"} <= {o for p in program.get_command(None, "tito").params for o in p.opts}  # type: ignore


@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--no-progress"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
    ],
    ids=["zizmor", "schema"],
)
def test_the_workflow_passes_its_linters(command: list[str], tmp_path: Path) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    place = tmp_path / ".github" / "workflows" / "drift.yml"
    place.parent.mkdir(parents=True)
    shutil.copy(WORKFLOW, place)
    done = subprocess.run([*command, str(place)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def recipe() -> dict[str, Any]:
    """The first block of JSON of the recipe, as it is to be copied."""
    [block, *_] = re.findall(r"```json\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    loaded: dict[str, Any] = json.loads(block)
    return loaded


def matches(text: str) -> list[dict[str, str]]:
    """What Renovate would find: its groups are written as JavaScript writes them."""
    [manager] = recipe()["customManagers"]
    [pattern] = manager["matchStrings"]
    return [match.groupdict() for match in re.finditer(pattern.replace("(?<", "(?P<"), text)]


def test_renovate_finds_every_hub_model_of_a_lock_and_nothing_else() -> None:
    other, digits = "f" * 40, "1" * 40
    text = dumps(
        lock(
            entry("Qwen/Qwen3-8B"),
            entry("gpt2", revision=other),
            entry("org/a.model-1b", revision=digits, requested="v1.0"),
            local("models/small"),
        )
    )
    assert matches(text) == [
        {"depName": "gpt2", "currentDigest": other, "currentValue": "main"},
        {"depName": "org/a.model-1b", "currentDigest": digits, "currentValue": "v1.0"},
        {"depName": "Qwen/Qwen3-8B", "currentDigest": COMMIT, "currentValue": "main"},
    ]


def test_renovate_looks_at_locks_only() -> None:
    [manager] = recipe()["customManagers"]
    [pattern] = manager["managerFilePatterns"]
    expression = re.compile(pattern.strip("/"))
    assert expression.search("template-lint.lock") and expression.search("jobs/grpo/template-lint.lock")
    assert not expression.search("my-template-lint.lock") and not expression.search("template-lint.lock.bak")
    assert manager["packageNameTemplate"].replace("{{{depName}}}", "org/model") == "https://huggingface.co/org/model"


def test_what_renovate_changes_is_noticed_and_the_command_named() -> None:
    text = dumps(lock(entry("Qwen/Qwen3-8B")))
    bumped = parse_lock(text.replace(COMMIT, "b" * 40))
    pins = Pins(bumped, Path())
    [changed] = bumped.entries
    assert changed.revision == "b" * 40
    assert "`template-lint lock Qwen/Qwen3-8B`" in (pins.problem(changed) or "")
