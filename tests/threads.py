"""Threads that earlier tests of a session left behind: a server, a progress bar."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from template_lint import workers


@contextmanager
def only_ours() -> Iterator[None]:
    """Threads of others do not keep us from forking meanwhile."""
    workers.settle()
    count, left_behind = threading.active_count, threading.active_count() - 1
    with mock.patch.object(threading, "active_count", lambda: count() - left_behind):
        yield
