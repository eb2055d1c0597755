"""examples/: what the README says about them, through the installed command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from template_lint import check
from template_lint.config import Options
from template_lint.model import Severity

ROOT = Path(__file__).parent.parent
OFFLINE = Options(transformers="5.24", offline=True, cache=False)


def test_the_command_of_the_readme() -> None:
    command = "from template_lint.cli import main; main()"
    arguments = ["check", "examples/", "--transformers", "5.24", "--output", "concise", "--no-cache"]
    done = subprocess.run(
        [sys.executable, "-c", command, *arguments], capture_output=True, text=True, cwd=ROOT, timeout=60
    )
    assert done.returncode == 1, done.stderr
    errors = [line.partition(" error ")[0] for line in done.stdout.splitlines() if " error " in line]
    assert errors == ["examples/broken.jinja:13:12: TL101", "examples/thinking_broken.jinja:9:12: TL101"]


@pytest.mark.parametrize("name", ["fixed.jinja", "thinking_fixed.jinja"])
def test_the_fixed_twins_are_clean(name: str) -> None:
    """What is left is said of the model they would belong to: what it refuses, how it binds results."""
    [target] = check(ROOT / "examples" / name, config=OFFLINE).targets
    assert {finding.severity for finding in target.templates[0].findings} == {Severity.INFO}
    assert {"TL210", "TL211"} <= {finding.rule for finding in target.templates[0].findings}
    assert target.templates[0].verdict.tito == "stable"


def test_the_conversations_are_asked() -> None:
    report = check(
        ROOT / "examples" / "broken.jinja", config=OFFLINE, conversations=(ROOT / "examples" / "conversations.jsonl",)
    )
    assert "refund" in report.findings[0].evidence["scenarios"]
