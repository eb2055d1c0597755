"""Runs the steps of a composite action as a runner does: the file's own scripts under bash, their files and outputs.

Steps that use other actions are not run; what they would output is given. Of the expression language only what
``action.yml`` uses is understood: ``inputs.NAME``, ``steps.ID.outputs.NAME``, ``always()``, ``==``, ``!=``, ``&&``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
_COMPARISON = re.compile(r"([\w.-]+)\s*(==|!=)\s*'([^']*)'")


class Step(NamedTuple):
    """One step that ran: its exit code and what it printed."""

    name: str
    code: int
    log: str


class Outcome(NamedTuple):
    """A run of the whole action: its steps, its outputs, the job summary, and the actions that it would have used."""

    steps: list[Step]
    outputs: dict[str, str]
    summary: str
    used: list[str]

    @property
    def code(self) -> int:
        """0 where every step passed, else the exit code of the first that did not."""
        return next((step.code for step in self.steps if step.code), 0)

    def log(self, name: str) -> str:
        """What the step with this name printed."""
        return next(step.log for step in self.steps if step.name == name)


def run_action(
    repository: Path, scratch: Path, *, environment: Mapping[str, str] = {}, skip: Collection[str] = (), **inputs: str
) -> Outcome:
    """Run ``action.yml`` in ``repository``, with its scratch files below ``scratch``.

    Underscores in input names are hyphens. ``skip`` are the ids of steps whose work has been done.
    """
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    unknown = set(given) - set(action["inputs"])
    assert not unknown, f"the action has no input {unknown}"
    context: dict[str, str] = {
        **{f"inputs.{name}": given.get(name, spec.get("default", "")) for name, spec in action["inputs"].items()},
        "steps.python.outputs.python-path": sys.executable,
    }
    summary = scratch / "summary.md"
    summary.touch()
    done: list[Step] = []
    used: list[str] = []
    for number, step in enumerate(action["runs"]["steps"]):
        failed = any(earlier.code for earlier in done)
        if step.get("id") in skip or not _wanted(step.get("if", ""), context, failed):
            continue
        if "uses" in step:
            used.append(step["uses"])
            continue
        output = scratch / f"output{number}"
        output.touch()
        done.append(_run(step, context, repository, scratch, output, summary, environment))
        for line in output.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition("=")
            context[f"steps.{step.get('id', number)}.outputs.{name}"] = value
    outputs = {name: _fill(spec["value"], context) for name, spec in action["outputs"].items()}
    return Outcome(done, outputs, summary.read_text(encoding="utf-8"), used)


def _run(
    step: Mapping[str, Any],
    context: Mapping[str, str],
    repository: Path,
    scratch: Path,
    output: Path,
    summary: Path,
    environment: Mapping[str, str],
) -> Step:
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an expression in a script is an injection"
    variables = {name: _fill(value, context) for name, value in step.get("env", {}).items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=repository,
        env={
            **os.environ,
            **environment,
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(scratch),
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    return Step(step["name"], done.returncode, done.stdout.decode("utf-8", "replace"))


def _fill(text: str, context: Mapping[str, str]) -> str:
    filled = _EXPRESSION.sub(lambda match: context.get(match[1], ""), text)
    assert "${{" not in _EXPRESSION.sub("", text), f"not understood: {text}"
    return filled


def _wanted(condition: str, context: Mapping[str, str], failed: bool) -> bool:
    parts = [part.strip() for part in condition.split("&&") if part.strip()]
    if failed and "always()" not in parts:
        return False
    return all(_holds(part, context) for part in parts if part != "always()")


def _holds(part: str, context: Mapping[str, str]) -> bool:
    match = _COMPARISON.fullmatch(part)
    assert match, f"not understood: {part}"
    equal = context.get(match[1], "") == match[3]
    return equal if match[2] == "==" else not equal
