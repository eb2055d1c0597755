"""Bounds on one render, inside the process that renders: processor time, memory, output size.

Soft bounds raise RenderStopped in Python code. What does not return to Python (``9**9**9``) is ended by the kernel: a
second timer kills the process, and the worker pool notices. So untrusted templates are rendered in a worker, never in
the process that must survive. Costs two system calls a render.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any


class RenderStopped(BaseException):
    """A bound was reached. Not an Exception, so that nothing between the template and us can swallow it.

    ``reason`` is ``time``, ``memory`` or ``output``.
    """

    def __init__(self, reason: str, limit: str) -> None:
        super().__init__(f"stopped: {reason} limit of {limit}")
        self.reason = reason
        self.limit = limit


SOFT_SECONDS = 2.0
HARD_SECONDS = 5.0
TEMPLATE_SECONDS = 20.0
MEMORY_BYTES = 512 * 1024 * 1024
OUTPUT_CHARACTERS = 8 * 1024 * 1024
_TOO_LITTLE = 0.01  # seconds: such a timer might go off before the render begins


class Limits:
    """The bounds of one template: each render has its own time, all renders together have ``TEMPLATE_SECONDS``.

    ``with limits:`` holds one render. Inert where the platform has no timers, off the main thread, and until
    ``arm_process`` was called.
    """

    armed = False
    _running = False

    def __init__(self) -> None:
        self._spent = 0.0
        self._started: float | None = None

    def __enter__(self) -> None:
        """Begin one render. Raises RenderStopped where no time is left."""
        if not Limits.armed:
            return
        self.settle()
        left = TEMPLATE_SECONDS - self._spent
        if left < _TOO_LITTLE:
            raise RenderStopped("time", f"{TEMPLATE_SECONDS:g} s for all renders of one template")
        self._started = time.process_time()
        Limits._running = True
        signal.setitimer(signal.ITIMER_VIRTUAL, HARD_SECONDS)
        signal.setitimer(signal.ITIMER_PROF, min(SOFT_SECONDS, left))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """End it. Raises RenderStopped in place of a MemoryError."""
        if self._started is None:
            return
        self.settle()
        if kind is not None and issubclass(kind, MemoryError):
            raise RenderStopped("memory", f"{MEMORY_BYTES >> 20} MiB") from None

    def settle(self) -> None:
        """Stop the timers and count the time of the render that was begun last, if that was not done yet.

        Python hears a signal when it enters a function. Where that is ``__exit__``, nothing of it runs: who catches
        RenderStopped calls this.
        """
        if self._started is None:
            return
        Limits._running = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self._spent += time.process_time() - self._started
        self._started = None


def check_output(text: str) -> str:
    """Refuse an output that no conversation of ours can justify. Raises RenderStopped."""
    if len(text) > OUTPUT_CHARACTERS:
        raise RenderStopped("output", f"{OUTPUT_CHARACTERS >> 20} Mi characters")
    return text


def arm_process() -> None:
    """Make this process one that may be stopped: install the timer's handler and cap its memory.

    Call it in a worker, on its main thread. Does nothing where the platform lacks timers or resource limits.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return
    signal.signal(signal.SIGPROF, _on_time)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    Limits.armed = True
    _cap_memory()


@contextlib.contextmanager
def trusted_memory() -> Iterator[None]:
    """Lift the memory cap for work that is ours (loading a tokenizer), then cap what comes after it."""
    if Limits.armed and sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        if Limits.armed:
            _cap_memory()


def _cap_memory() -> None:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + MEMORY_BYTES, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _on_time(_signal: int, _frame: Any) -> None:
    # The signal may arrive just after the render has ended.
    if Limits._running:
        raise RenderStopped("time", f"{SOFT_SECONDS:g} s of processor time for one render")


def _data_bytes() -> int:
    import resource
    from pathlib import Path

    pages = int(Path("/proc/self/statm").read_text().split()[5])
    return pages * resource.getpagesize()
