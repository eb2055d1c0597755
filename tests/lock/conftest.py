"""A loopback Hub that this process is a client of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hubserver import HubServer


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
