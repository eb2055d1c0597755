"""The pool: a job may kill, hang or break its worker, and costs only itself."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from template_lint import workers
from template_lint.workers import Died, Failed, can_fork, prestart, run_jobs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
DESCRIPTORS = Path("/proc/self/fd")
MARK = "template_lint_test_initialized"


def initialize() -> None:
    os.environ[MARK] = "yes"


def break_initializer() -> None:
    raise RuntimeError("no start")


def work(payload: Any) -> Any:
    """What the payload says."""
    kind, value = payload if isinstance(payload, tuple) else ("echo", payload)
    if kind == "echo":
        return value
    if kind == "pid":
        time.sleep(value)
        return os.getpid(), os.environ.get(MARK)
    if kind == "signal":
        faulthandler.disable()  # pytest's would print a traceback
        os.kill(os.getpid(), value)
    if kind == "exit":
        os._exit(value)
    if kind == "raise":
        raise ValueError(value)
    if kind == "sleep":
        time.sleep(value)
        return "slept"
    if kind == "system-exit":
        raise SystemExit(value)
    if kind == "answer-then-die":
        threading.Timer(0.05, os._exit, (9,)).start()
        return "last words"
    if kind == "print":
        sys.stdout.write("to standard output")
        sys.stdout.flush()
        os.write(1, b"raw bytes\n")
        return "printed"
    if kind == "unpicklable":
        return lambda: None
    if kind == "big":
        return b"x" * value
    if kind == "memory":
        raise MemoryError
    if kind == "close":
        for descriptor in range(3, 64):
            with suppress(OSError):
                os.close(descriptor)
    return None


def run(payloads: list[Any], jobs: int = 2, initializer: Any = initialize) -> list[Any]:
    """Results in payload order; every index exactly once."""
    results = list(run_jobs(work, payloads, jobs=jobs, initializer=initializer))
    assert sorted(index for index, _ in results) == list(range(len(payloads)))
    return [result for _, result in sorted(results, key=lambda pair: pair[0])]


def children() -> set[int]:
    """Processes, zombies included, whose parent we are."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(entry.parent.name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before, descriptors = children(), len(list(DESCRIPTORS.iterdir()))
    yield
    workers.settle()
    assert children() == before
    assert len(list(DESCRIPTORS.iterdir())) <= descriptors
    assert workers._alive == []
    assert workers._reserve == []


@contextmanager
def other_thread() -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_every_payload_is_answered() -> None:
    assert run(list(range(50))) == list(range(50))
    assert run([1], jobs=4) == [1]
    assert run([], jobs=4) == []
    assert run([1, 2], jobs=1) == [1, 2]


def test_at_most_the_asked_number_of_processes_and_the_initializer_ran() -> None:
    answers = run([("pid", 0.02)] * 12, jobs=3)
    pids = {pid for pid, _ in answers}
    assert 1 <= len(pids) <= 3
    assert os.getpid() not in pids
    assert {mark for _, mark in answers} == {"yes"}
    assert MARK not in os.environ


def test_function_and_initializer_may_be_named() -> None:
    results = list(
        run_jobs("tests.test_workers:work", [("pid", 0)], jobs=1, initializer="tests.test_workers:initialize")
    )
    assert results[0][1][1] == "yes"


def test_started_is_called_once_while_the_first_jobs_run() -> None:
    calls: list[float] = []
    results = run_jobs(
        work, [("sleep", 0.2)] * 2, jobs=2, initializer=initialize, started=lambda: calls.append(time.monotonic())
    )
    assert [result for _, result in results] == ["slept", "slept"]
    assert len(calls) == 1
    assert time.monotonic() - calls[0] > 0.15


KILLERS = [
    (("signal", signal.SIGKILL), "its process was ended by SIGKILL"),
    (("signal", signal.SIGSEGV), "its process was ended by SIGSEGV"),
    (("signal", signal.SIGVTALRM), "time limit reached in a place that cannot be interrupted"),
    (("signal", signal.SIGRTMIN + 3), f"its process was ended by signal {signal.SIGRTMIN + 3}"),
    (("exit", 7), "its process ended with status 7"),
    (("exit", 0), "its process ended with status 0"),
    (("system-exit", 3), None),
    (("unpicklable", None), None),
    (("close", None), None),
]


@pytest.mark.parametrize(("killer", "reason"), KILLERS)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_job_that_takes_its_worker_down_costs_only_itself(killer: Any, reason: str | None, jobs: int) -> None:
    payloads = [0, 1, 2, killer, 4, 5, 6, 7]
    results = run(payloads, jobs=jobs)
    died = results.pop(3)
    assert results == [0, 1, 2, 4, 5, 6, 7]
    assert isinstance(died, Died)
    if reason is not None:
        assert died.reason == reason


def test_many_jobs_and_many_killers() -> None:
    payloads: list[Any] = [("signal", signal.SIGKILL) if index % 7 == 3 else index for index in range(60)]
    results = run(payloads)
    for index, result in enumerate(results):
        assert (isinstance(result, Died)) if index % 7 == 3 else (result == index)


def test_only_killers() -> None:
    assert all(isinstance(result, Died) for result in run([("exit", 1)] * 6))


def test_a_job_that_raises_is_failed_and_its_worker_lives_on() -> None:
    first, failed, second = run([("pid", 0), ("raise", "odd"), ("pid", 0)], jobs=1)
    assert first == second
    assert isinstance(failed, Failed)
    assert failed.error == "ValueError: odd"
    assert failed.traceback.splitlines()[0] == "Traceback (most recent call last):"
    assert "raise ValueError(value)" in failed.traceback


def test_running_out_of_memory_is_no_silent_death() -> None:
    assert isinstance(run([("memory", None)])[0], Failed)


def test_a_worker_that_dies_between_two_jobs() -> None:
    # The second payload is larger than a pipe holds, so that it is still being written when the worker dies.
    payloads = [("answer-then-die", None), ("echo", "x" * 3_000_000), 2, 3]
    results = []
    for index, result in run_jobs(work, payloads, jobs=1, initializer=initialize):
        results.append((index, result))
        if index == 0:
            time.sleep(0.15)
    assert [index for index, _ in sorted(results)] == [0, 1, 2, 3]
    assert results[0][1] == "last words"
    assert dict(results)[3] == 3


def test_a_broken_initializer_answers_every_job(capfd: pytest.CaptureFixture[str]) -> None:
    results = run([1, ("echo", "x" * 3_000_000), 3], initializer=break_initializer)
    assert all(isinstance(result, Died) for result in results)


def test_a_payload_that_cannot_be_pickled_leaves_nothing_behind() -> None:
    with pytest.raises(Exception, match="pickle"):
        run([1, lambda: None, 2])


def test_a_worker_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WALL_SECONDS", 2.0)  # long enough for the others at any load
    started = time.monotonic()
    results = run([0, ("sleep", 60), 2, 3, ("sleep", 60), 5])
    assert [results[index] for index in (0, 2, 3, 5)] == [0, 2, 3, 5]
    assert results[1] == results[4] == Died("no answer for 2 s")
    assert time.monotonic() - started < 20


def test_a_worker_that_ignores_signals_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WALL_SECONDS", 0.3)
    assert list(run_jobs(stubborn, [0], jobs=1, initializer=initialize)) == [(0, Died("no answer for 0.3 s"))]


def stubborn(_: Any) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def test_large_payloads_and_answers() -> None:
    results = run([("big", 5_000_000), "x" * 5_000_000, ("big", 1)])
    assert [len(result) for result in results] == [5_000_000, 5_000_000, 1]


def test_leaving_the_iterator_early_ends_the_workers() -> None:
    iterator = run_jobs(work, [0, ("sleep", 60), ("sleep", 60), 3], jobs=2, initializer=initialize)
    started = time.monotonic()
    assert next(iterator) == (0, 0)
    assert len(children()) >= 1
    iterator.close()  # type: ignore[attr-defined]
    assert time.monotonic() - started < 20


def test_an_exception_in_the_consumer_ends_the_workers() -> None:
    with pytest.raises(KeyError):
        for index, _ in run_jobs(work, [0, ("sleep", 60)], jobs=2, initializer=initialize):
            raise KeyError(index)


def test_an_interrupt_reaches_the_parent_only() -> None:
    assert run([("signal", signal.SIGINT), 1], jobs=1) == [None, 1]


def test_prints_do_not_break_the_protocol(capfd: pytest.CaptureFixture[str]) -> None:
    assert run([("print", None), 1]) == ["printed", 1]


def test_a_prestarted_worker_is_the_first_to_work() -> None:
    prestart(initialize)
    [reserved] = workers._reserve
    assert run([("pid", 0)], jobs=1) == [(reserved.pid, "yes")]


def test_a_prestarted_worker_that_died_meanwhile() -> None:
    prestart(break_initializer)
    time.sleep(0.2)
    results = run([("echo", "x" * 3_000_000), 1], jobs=1)
    assert isinstance(results[0], Died)
    assert results[1] == 1


def test_another_thread_forbids_forking() -> None:
    assert can_fork()
    with other_thread():
        assert not can_fork()
        prestart(initialize)
        assert workers._reserve == []


def test_spawned_workers(capfd: pytest.CaptureFixture[str]) -> None:
    with other_thread():
        payloads = [("pid", 0), ("exit", 5), ("print", None), ("raise", "odd"), ("signal", signal.SIGKILL), 5]
        results = run(payloads)
    assert results[0][1] == "yes"
    assert results[1] == Died("its process ended with status 5")
    assert results[2] == "printed"
    assert isinstance(results[3], Failed)
    assert results[4] == Died("its process was ended by SIGKILL")
    assert results[5] == 5
    assert "to standard output" not in capfd.readouterr().out


def test_spawned_workers_that_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "WALL_SECONDS", 8.0)  # long enough for a fresh interpreter at any load
    with other_thread():
        assert run([0, ("sleep", 60)]) == [0, Died("no answer for 8 s")]
