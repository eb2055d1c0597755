"""What every test gets."""

from __future__ import annotations

import threading

import pytest

from template_lint import workers


@pytest.fixture(autouse=True)
def only_our_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that earlier tests of the session left behind (a server, a progress bar) do not keep us from forking."""
    workers.settle()
    count, left_behind = threading.active_count, threading.active_count() - 1
    monkeypatch.setattr(threading, "active_count", lambda: count() - left_behind)
