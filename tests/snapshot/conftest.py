"""A loopback Hub that this process is a client of, with short pauses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from template_lint.snapshot import hub as hub_module
from tests.hubserver import HubServer
from tests.snapshot.hub_models import QUICK


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with HubServer() as server:
        server.lead_here(monkeypatch, tmp_path)
        monkeypatch.setattr(hub_module, "LIMITS", QUICK)
        yield server
