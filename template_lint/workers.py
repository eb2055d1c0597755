"""Worker processes that may die: a pool that outlives whatever its jobs do to their process.

A job runs a module-level function on a picklable payload. Workers are forked where that is safe (POSIX, one thread)
and spawned as fresh interpreters elsewhere. A worker that dies, or answers nothing for ``WALL_SECONDS``, costs its own
job only.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

if TYPE_CHECKING:
    import subprocess

WALL_SECONDS = 120.0
_HEADER = struct.Struct("<Q")


Function = Callable[..., Any] | str
"""A module-level function, or ``module:name``: then only the worker imports the module."""


class Died(NamedTuple):
    """Stands for the result of a job whose worker died; ``reason`` says how."""

    reason: str


class Failed(NamedTuple):
    """Stands for the result of a job whose function raised: a defect of ours, not of the input."""

    error: str
    traceback: str


_alive: list[_Worker] = []
_reapers: list[threading.Thread] = []


class _Worker:
    """One process and the two pipes to it."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, pid: int, process: subprocess.Popen[bytes] | None) -> None:
        self.reader, self.writer, self.pid, self._process = reader, writer, pid, process
        _alive.append(self)

    def send(self, job: Any) -> None:
        """Hand over a job. That the worker is dead shows where its answer is awaited, not here."""
        data = pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
        with contextlib.suppress(BrokenPipeError):
            self.writer.write(_HEADER.pack(len(data)) + data)
            self.writer.flush()

    def receive(self) -> Any:
        """The answer, or Died where the pipe ends first."""
        header = self.reader.read(_HEADER.size)
        if len(header) == _HEADER.size:
            (size,) = _HEADER.unpack(header)
            data = self.reader.read(size)
            if len(data) == size:
                return pickle.loads(data)
        return Died(self.reap())

    def reap(self) -> str:
        """Wait for the dead process; say what ended it."""
        self._close()
        if self._process is not None:
            code = self._process.wait()
        else:
            with contextlib.suppress(ChildProcessError):
                code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if code >= 0:
            return f"its process ended with status {code}"
        with contextlib.suppress(ValueError):
            if signal.Signals(-code).name in ("SIGVTALRM", "SIGXCPU", "SIGPROF"):
                return "time limit reached in a place that cannot be interrupted"
            return f"its process was ended by {signal.Signals(-code).name}"
        return f"its process was ended by signal {-code}"

    def kill(self) -> None:
        """End it now, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        self.reap()

    def retire(self) -> None:
        """Let it end by itself: its input is closed. A thread waits for it, which takes as long as a report."""
        self._close()
        reaper = threading.Thread(target=self._wait, daemon=True)
        try:
            reaper.start()
        except RuntimeError:  # no more threads here
            self._wait()
        else:
            _reapers.append(reaper)

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait()
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)

    def _close(self) -> None:
        if self in _alive:
            _alive.remove(self)
        for pipe in (self.writer, self.reader):
            with contextlib.suppress(OSError):
                pipe.close()


def run_jobs(
    function: Function,
    payloads: Iterable[Any],
    *,
    jobs: int,
    initializer: Function,
    started: Callable[[], None] = lambda: None,
    patient: bool = False,
    fork: bool = True,
) -> Iterator[tuple[int, Any]]:
    """Run ``function`` on every payload in at most ``jobs`` processes; yield (index, result) as they come.

    The result is Died where the worker died and Failed where the function raised. Payloads are taken one by one, when a
    worker is free for the next: they may come from a stream. ``initializer`` runs once in each worker. ``started`` is
    called once, when the first jobs are under way and there is nothing to do but wait. ``patient``: jobs may take
    longer than WALL_SECONDS. ``fork`` False: workers are fresh interpreters everywhere.
    Leaving the iterator early ends the workers.
    """
    import selectors

    queue = _Queue(payloads)
    busy: dict[_Worker, int] = {}
    selector = selectors.DefaultSelector()

    def give(worker: _Worker) -> None:
        index, payload = queue.pop()
        busy[worker] = index
        worker.send((function, payload))

    def hire() -> None:
        worker = _start(initializer) if fork else _spawn(initializer)
        selector.register(worker.reader, selectors.EVENT_READ, worker)
        give(worker)

    try:
        while queue and len(busy) < jobs:
            hire()
        started()
        while busy:
            ready = selector.select(None if patient else WALL_SECONDS)
            if not ready:
                for worker, index in list(busy.items()):
                    selector.unregister(worker.reader)
                    worker.kill()
                    del busy[worker]
                    yield index, Died(f"no answer for {WALL_SECONDS:g} s")
            for key, _ in ready:
                worker = key.data
                index = busy.pop(worker)
                selector.unregister(worker.reader)
                result = worker.receive()
                if not isinstance(result, Died):
                    if queue:
                        selector.register(worker.reader, selectors.EVENT_READ, worker)
                        give(worker)
                    else:
                        worker.retire()
                yield index, result
            while queue and len(busy) < jobs:
                hire()
    finally:
        for worker in busy:
            worker.kill()
        selector.close()


class _Queue:
    """Payloads with their indices; looks one ahead, to know whether there is another."""

    def __init__(self, payloads: Iterable[Any]) -> None:
        self._rest = enumerate(payloads)
        self._next = next(self._rest, None)

    def __bool__(self) -> bool:
        return self._next is not None

    def pop(self) -> tuple[int, Any]:
        """The next (index, payload); there must be one."""
        found, self._next = self._next, next(self._rest, None)
        assert found is not None
        return found


_reserve: list[_Worker] = []


def prestart(initializer: Function) -> None:
    """Fork one worker now, before the caller imports what it needs itself; the next ``run_jobs`` takes it.

    The worker initializes itself meanwhile: on two cores both start-ups overlap. Does nothing where forking is not
    safe.
    """
    if can_fork():
        _reserve.append(_fork(initializer))


def _resolve(function: Function) -> Callable[..., Any]:
    if not isinstance(function, str):
        return function
    import importlib

    module, _, name = function.partition(":")
    resolved: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return resolved


def can_fork() -> bool:
    """Whether a forked child is safe: POSIX, and no other thread that might hold a lock."""
    settle()
    return hasattr(os, "fork") and threading.active_count() == 1


def settle() -> None:
    """Wait until every worker that was let go has ended. ``run_jobs`` returns a moment before."""
    while _reapers:
        _reapers.pop().join()


def _start(initializer: Function) -> _Worker:
    if _reserve:
        return _reserve.pop()
    return _fork(initializer) if can_fork() else _spawn(initializer)


def _fork(initializer: Function) -> _Worker:
    job_read, job_write = os.pipe()
    result_read, result_write = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            # The pipes of the other workers came along: while a copy is open here, they would never see theirs end.
            for other in _alive:
                os.close(other.writer.fileno())
                os.close(other.reader.fileno())
            os.close(job_write)
            os.close(result_read)
            _resolve(initializer)()
            _serve(os.fdopen(job_read, "rb"), os.fdopen(result_write, "wb"))
            status = 0
        finally:
            os._exit(status)
    os.close(job_read)
    os.close(result_write)
    return _Worker(os.fdopen(result_read, "rb"), os.fdopen(job_write, "wb"), pid, None)


def _spawn(initializer: Function) -> _Worker:
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-c", "from template_lint.workers import serve_spawned; serve_spawned()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdin is not None and process.stdout is not None
    reader, writer = process.stdout, process.stdin
    worker = _Worker(reader, writer, process.pid, process)  # type: ignore[arg-type]
    worker.send(initializer)
    return worker


def serve_spawned() -> None:
    """The main function of a spawned worker: jobs on standard input, results on standard output."""
    reader = sys.stdin.buffer
    writer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a stray print must not break the protocol
    initializer = _read(reader)
    if initializer is not None:
        _resolve(initializer)()
    _serve(reader, writer)


def _read(reader: BinaryIO) -> Any:
    header = reader.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    return pickle.loads(reader.read(size))


def _serve(reader: BinaryIO, writer: BinaryIO) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    while (job := _read(reader)) is not None:
        function, payload = job
        try:
            result = _resolve(function)(payload)
        except Exception as error:
            import traceback

            result = Failed(f"{type(error).__name__}: {error}", traceback.format_exc())
        data = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
        writer.write(_HEADER.pack(len(data)) + data)
        writer.flush()
