"""The check step of the GitHub Action: inputs (environment) -> runs of template-lint -> annotations, summary, outputs.

Standard library only. Exits 0 whatever is found: the exit code that the job should have is the output ``exit-code``.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

DEFAULT_LOCK = "template-lint.lock"
SEVERITIES = ("error", "warning", "info", "never")
# GitHub refuses a job summary of more than 1 MiB.
SUMMARY_BYTES = 1_000_000


class WrongInput(Exception):
    """An input of the action that makes no sense; the message names it."""


class Ran(NamedTuple):
    """A finished run of the linter; ``talk`` is its standard error."""

    code: int
    talk: str


class Inputs(NamedTuple):
    """The inputs of the action, read from the environment and understood."""

    paths: tuple[str, ...]
    lock: str
    check_drift: bool
    select: str
    ignore: str
    min_severity: str
    fail_on: str
    fail_on_drift: bool
    baseline: str
    config: str
    annotations: bool
    summary: bool
    transformers: str


def main(linter: str) -> None:
    """Check, report, and leave the outputs of the step."""
    folder = Path(os.environ["RUNNER_TEMP"]) / "template-lint"
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        name: folder / f"template-lint.{'sarif' if name == 'code-scanning' else name}"
        for name in ("json", "code-scanning", "markdown", "github", "drift")
    }
    for file in files.values():
        file.unlink(missing_ok=True)
    outputs = {"exit-code": "2", "findings": "0", "errors": "0", "drifted": "false"}
    outputs |= {"sarif-file": "", "json-file": "", "summary-file": ""}
    try:
        outputs |= run(linter, read_inputs(os.environ), files)
    except WrongInput as error:
        quote(f"template-lint: {error}")
    finally:
        with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as stream:
            stream.writelines(f"{name}={value}\n" for name, value in outputs.items())


def read_inputs(environment: os._Environ[str] | dict[str, str]) -> Inputs:
    """Understand the inputs. Raises WrongInput."""

    def text(name: str) -> str:
        return environment.get(f"INPUT_{name}", "").strip()

    def flag(name: str) -> bool:
        value = text(name).lower()
        if value not in ("", "true", "false"):
            raise WrongInput(f"input {name.lower().replace('_', '-')}: {value!r} is neither true nor false")
        return value == "true"

    try:
        paths = tuple(shlex.split(text("PATHS")))
    except ValueError as error:
        raise WrongInput(f"input paths: {error}") from None
    for path in paths:
        if path.startswith("-"):
            raise WrongInput(f"input paths: {path!r} looks like an option")
    words = [word.strip() for word in text("FAIL_ON").split(",") if word.strip()]
    severities = [word for word in words if word != "drift"]
    if len(severities) > 1 or any(word not in SEVERITIES for word in severities):
        raise WrongInput(f"input fail-on: {text('FAIL_ON')!r} is not one of error, warning, info, never, drift")
    return Inputs(
        paths=paths,
        lock=text("LOCK"),
        check_drift=flag("CHECK_DRIFT"),
        select=text("SELECT"),
        ignore=text("IGNORE"),
        min_severity=text("MIN_SEVERITY"),
        fail_on=severities[0] if severities else "never" if words else "",
        fail_on_drift="drift" in words,
        baseline=text("BASELINE"),
        config=text("CONFIG"),
        annotations=flag("ANNOTATIONS"),
        summary=flag("SUMMARY"),
        transformers=text("TRANSFORMERS"),
    )


def run(linter: str, inputs: Inputs, files: dict[str, Path]) -> dict[str, str]:
    """Run the check, and the lock's where there is one; return the outputs."""
    if not Path(linter).exists() and not Path(f"{linter}.exe").exists():
        raise WrongInput("the linter is not installed; see the step before")
    checked = start(linter, check_arguments(inputs, files))
    if inputs.annotations and files["github"].is_file():
        sys.stdout.write(files["github"].read_text(encoding="utf-8"))
    quote(checked.talk)
    codes = [checked.code]
    drifted = False
    if wants_lock(inputs):
        consistent = start(linter, lock_arguments(inputs, "--offline"))
        quote(consistent.talk)
        codes.append(consistent.code)
        if inputs.check_drift:
            live = start(linter, lock_arguments(inputs))
            quote(live.talk)
            drifted = live.code == 1
            codes.append(live.code if live.code != 1 or inputs.fail_on_drift else 0)
            told = start(linter, difference_arguments(inputs, files["drift"]))
            quote(told.talk)
            codes.append(told.code)
    if inputs.summary:
        write_summary(files)
    counts = read_counts(files["json"])
    return {
        "exit-code": str(next((code for code in (2, 1, 3) if code in codes), max(codes))),
        "findings": str(sum(counts.get(name, 0) for name in ("errors", "warnings", "infos"))),
        "errors": str(counts.get("errors", 0)),
        "drifted": "true" if drifted else "false",
        "sarif-file": existing(files["code-scanning"]),
        "json-file": existing(files["json"]),
        "summary-file": existing(files["markdown"]),
    }


def check_arguments(inputs: Inputs, files: dict[str, Path]) -> list[str]:
    """The arguments of ``template-lint check``. Every value is bound to its option; the targets come after ``--``."""
    arguments = [
        "check",
        *(f"--output={name}={files[name]}" for name in ("json", "code-scanning", "markdown", "github")),
    ]
    for option in ("select", "ignore", "min_severity", "fail_on", "baseline", "config", "transformers"):
        value = getattr(inputs, option)
        if value:
            arguments.append(f"--{option.replace('_', '-')}={value}")
    return [*arguments, "--", *inputs.paths]


def lock_arguments(inputs: Inputs, *more: str) -> list[str]:
    """The arguments of ``template-lint lock --check``."""
    return ["lock", "--check", f"--lock={inputs.lock}", *_configuration(inputs), *more]


def difference_arguments(inputs: Inputs, file: Path) -> list[str]:
    """The arguments of ``template-lint diff``: what the drift of each model means, for the summary."""
    return ["diff", f"--lock={inputs.lock}", *_configuration(inputs), "--fail-on=never", f"--output=markdown={file}"]


def _configuration(inputs: Inputs) -> list[str]:
    return [f"--config={inputs.config}"] if inputs.config else []


def wants_lock(inputs: Inputs) -> bool:
    """Whether there is a lock to check. Raises WrongInput where one was named, or is needed, and is not there."""
    if inputs.lock and Path(inputs.lock).is_file():
        return True
    if inputs.lock not in ("", DEFAULT_LOCK) or inputs.check_drift:
        raise WrongInput(f"there is no lock file {inputs.lock!r}: write it with `template-lint lock`")
    return False


def start(linter: str, arguments: list[str]) -> Ran:
    """Run the linter. What it prints for machines goes to files; its standard error comes back."""
    done = subprocess.run(
        [linter, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return Ran(done.returncode, done.stdout)


def quote(text: str) -> None:
    """Print text that strangers may have shaped, so that no line of it is a workflow command."""
    if not text.strip():
        return
    token = secrets.token_hex(16)
    print(f"::stop-commands::{token}\n{text.rstrip()}\n::{token}::", flush=True)


def write_summary(files: dict[str, Path]) -> None:
    """Append the reports to the job summary, as far as they fit."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return
    text = "\n".join(files[name].read_text(encoding="utf-8") for name in ("markdown", "drift") if files[name].is_file())
    data = text.encode("utf-8")
    if len(data) > SUMMARY_BYTES:
        kept = data[:SUMMARY_BYTES].decode("utf-8", "ignore").rpartition("\n")[0]
        data = (kept + "\n\nThe rest did not fit into the job summary.\n").encode("utf-8")
    with Path(place).open("ab") as stream:
        stream.write(data)


def read_counts(file: Path) -> dict[str, int]:
    """The summary of the JSON report; nothing where there is none."""
    try:
        summary = json.loads(file.read_text(encoding="utf-8"))["summary"]
    except (OSError, ValueError, KeyError):
        return {}
    return {name: count for name, count in summary.items() if isinstance(count, int)}


def existing(file: Path) -> str:
    """The path as text where the file is there, else an empty string."""
    return str(file) if file.is_file() else ""


if __name__ == "__main__":
    main(sys.argv[1])
