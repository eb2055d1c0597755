"""A loopback Hub that this process is a client of, a folder to run in, and the commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from tests.hubserver import HubServer
from tests.lock.commands import Run


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    home = tmp_path / "home"
    home.mkdir()
    with HubServer() as server:
        server.lead_here(monkeypatch, home)
        yield server


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder that commands run in."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "reports"))
    return folder


@pytest.fixture
def run(project: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in ``project`` and return its exit code, stdout and stderr."""
    for variable in ("FORCE_COLOR", "COLUMNS", "TEMPLATE_LINT_DEBUG"):
        monkeypatch.delenv(variable, raising=False)

    def call(*args: str) -> Result:
        return CliRunner().invoke(program, args, prog_name="template-lint", env={"COLUMNS": "200"})

    return call
