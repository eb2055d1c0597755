"""The guide "From a red gate to a running job": its commands run in order and print what stands under them."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import transformers
from click.testing import CliRunner

from template_lint.cli.support.program import program
from tests.inputs import tokenizer_dir

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "red-gate-to-running-job.md"
LEFT_OUT = "..."

pytestmark = pytest.mark.skipif(transformers.__version__ < "5", reason="the guide names its version: once is enough")


def console(page: str) -> Iterator[tuple[str, list[str]]]:
    """(command, lines under it) of every console block, in order."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command, lines


def follows(expected: list[str], printed: list[str]) -> bool:
    """Whether the printed lines are the expected ones, where ``...`` stands for any number of lines."""
    if not expected:
        return not printed
    if expected[0] == LEFT_OUT:
        return any(follows(expected[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and printed[0] == expected[0] and follows(expected[1:], printed[1:])


@pytest.mark.parametrize(
    ("expected", "printed", "answer"),
    [
        ("a", "a", True),
        ("a", "a b", False),
        ("a ...", "a b c", True),
        ("... c", "a b c", True),
        ("... b", "a c", False),
    ],
)
def test_what_is_left_out(expected: str, printed: str, answer: bool) -> None:
    assert follows(expected.split(), printed.split()) is answer


def test_the_guide_runs_and_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "cache"))
    job = tmp_path / "job"
    (job / "Qwen3-0.6B").mkdir(parents=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tokenizer_dir("qwen3") / name, job / "Qwen3-0.6B")
    monkeypatch.chdir(job)
    code, commands = 0, []
    for command, expected in console(GUIDE.read_text(encoding="utf-8")):
        commands.append(command)
        if command == "echo $?":
            assert expected == [str(code)], commands
            continue
        name, *arguments = shlex.split(command)
        assert name == "template-lint"
        result = CliRunner().invoke(program, arguments, prog_name=name)
        code, printed = result.exit_code, result.output.rstrip("\n").split("\n")
        assert follows(expected, printed), f"$ {command}\n{result.output}"
    assert len(commands) == 14
    assert (job / ".github" / "workflows" / "template-lint.yml").is_file()
