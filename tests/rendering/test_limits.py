"""Bounds on one render. Every test renders in a child process, as the bounds may end the process."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from template_lint.rendering import limits
from template_lint.rendering.limits import RenderStopped, arm_process, check_output, trusted_memory
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds on memory and processor time need Linux")
PROFILE = parse_profile("5.24")
MIB = 1 << 20


class End(NamedTuple):
    """How a child process ended: its result, or the signal; its processor seconds, and the peak of the memory
    it took beyond what it inherited, in bytes.
    """

    result: Any
    signal: int | None
    seconds: float
    peak: int


def resident() -> int:
    """Memory of this process in bytes: a forked child begins with as much, and late in a session that is a lot."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_child(function: Callable[[], Any]) -> End:
    """Run ``function`` in a forked child with short bounds."""
    reader, writer = os.pipe()
    inherited = resident()
    pid = os.fork()
    if pid == 0:
        try:
            limits.SOFT_SECONDS, limits.HARD_SECONDS, limits.TEMPLATE_SECONDS = 0.3, 0.8, 1.0
            limits.MEMORY_BYTES = 64 * MIB
            arm_process()
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(function(), pipe)
        except BaseException as error:
            os.write(2, repr(error).encode())
            os._exit(3)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status, usage = os.wait4(pid, 0)
    died = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    assert died is not None or os.WEXITSTATUS(status) == 0
    result = pickle.loads(data) if data else None
    return End(result, died, usage.ru_utime + usage.ru_stime, max(usage.ru_maxrss * 1024 - inherited, 0))


def render(source: str, **variables: Any) -> End:
    return in_child(lambda: ChatTemplate(source, PROFILE).render(variables))


NESTED_RANGE = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        NESTED_RANGE,
        "{% for i in range(99999) %}{% set x = range(99999)|list|length %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{% if i %}{% endif %}{% endfor %}{% endfor %}x",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "{% for i in range(99999) %}{% for j in range(9999) %}{{ i|string|upper|lower|trim }}{% endfor %}{% endfor %}",
    ],
)
def test_time_is_bounded_and_the_process_survives(source: str) -> None:
    end = render(source)
    assert end.signal is None
    assert end.result.error == "RenderStopped"
    assert "time limit of 0.3 s" in end.result.message
    assert end.seconds < 3


@pytest.mark.parametrize("source", ["{{ 9 ** (9 ** 9) }}", "{% set x = 7 ** 99999999 %}{{ x }}", "{{ n ** (n ** n) }}"])
def test_what_never_returns_to_python_ends_the_process_in_time(source: str) -> None:
    end = render(source, n=9)
    # The soft bound cannot interrupt one long multiplication; the kernel ends it. Which comes first depends on
    # where the time is spent.
    if end.signal is None:
        assert end.result.error in ("RenderStopped", "ValueError")
    else:
        assert end.signal == signal.SIGVTALRM
    assert end.seconds < 3


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 999999999 }}",
        "{{ 'a'|center(999999999) }}",
        "{{ '%999999999d'|format(1) }}",
        "{{ [0] * 99999999 }}",
        "{{ 'a'.ljust(999999999) }}",
        "{% set x = 'aaaaaaaaaa' * 99999 %}{{ x.replace('a', x) }}",
        "{{ ('a' * 9999).join(['b'] * 99999) }}",
        "{% set n = namespace(s='a') %}{% for i in range(64) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
        "{{ x|tojson(indent=99999999) }}",
        "{{ 'a'|indent(999999999, true) }}",
        "{{ ('a' * 9999)|list|batch(1)|list * 9999 }}",
        "{{ (range(99999)|list * 999)|length }}",
    ],
)
def test_memory_is_bounded_and_the_process_survives(source: str) -> None:
    end = render(source, x=[[1]])
    assert end.signal is None
    assert end.result.text is None
    assert end.result.error in ("RenderStopped", "OverflowError")
    assert end.seconds < 3
    assert end.peak < 64 * MIB + 300 * MIB


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 9000000 }}",
        "{% for i in range(9000) %}{{ 'a' * 1000 }}{% endfor %}",
        "{% macro f() %}{{ 'a' * 9000000 }}{% endmacro %}{{ f() }}",
    ],
)
def test_output_is_bounded(source: str) -> None:
    end = render(source)
    assert (end.signal, end.result.error) == (None, "RenderStopped")
    assert end.result.message == "stopped: output limit of 8 Mi characters"


def test_the_largest_output_that_passes() -> None:
    end = in_child(lambda: len(ChatTemplate("{{ 'a' * n }}", PROFILE).render({"n": 8 * MIB}).text or ""))
    assert end.result == 8 * MIB
    with pytest.raises(RenderStopped):
        check_output("a" * (8 * MIB + 1))


@pytest.mark.parametrize(
    "source",
    [
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
        "{% if true %}" * 2000 + "{% endif %}" * 2000,
        "{{ " + "-" * 5000 + "1 }}",
        "{{ " + "[" * 3000 + "]" * 3000 + " }}",
        "{{ " + "a." * 3000 + "b }}",
        "{{ " + "1 + " * 20000 + "1 }}",
        "{{ x|tojson }}",
    ],
)
def test_depth_is_an_error_of_the_template(source: str) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    end = render(source, x=deep)
    assert end.seconds < 3
    if end.signal is not None:  # the last bound may come first where a large process was forked
        assert end.signal == signal.SIGVTALRM
        return
    assert end.result.text is None
    assert end.result.error in ("RecursionError", "SyntaxError", "MemoryError", "UndefinedError", "RenderStopped")


def test_the_process_goes_on_after_a_stopped_render() -> None:
    def go() -> Any:
        bad, good = ChatTemplate(NESTED_RANGE, PROFILE), ChatTemplate("ok {{ x }}", PROFILE)
        bomb = ChatTemplate("{{ 'a' * 999999999 }}", PROFILE)
        return [bad.render({}), good.render({"x": 1}), bomb.render({}), good.render({"x": 2}), bad.trace({})[0]]

    first, second, third, fourth, fifth = in_child(go).result
    assert [first.error, third.error, fifth.error] == ["RenderStopped"] * 3
    assert [second.text, fourth.text] == ["ok 1", "ok 2"]
    assert "memory limit of 64 MiB" in third.message


def test_all_renders_of_one_template_together_are_bounded() -> None:
    def go() -> Any:
        template = ChatTemplate(NESTED_RANGE, PROFILE)
        return [template.render({}).message for _ in range(6)]

    end = in_child(go)
    assert end.result[0] == "stopped: time limit of 0.3 s of processor time for one render"
    assert end.result[-1] == "stopped: time limit of 1 s for all renders of one template"
    assert end.seconds < 3


def test_a_render_counts_whose_end_the_bound_interrupts() -> None:
    """One long operation that fails: Python hears the timer only when it enters the end of the bounds."""

    def go() -> Any:
        template = ChatTemplate("{{ numbers.index('a') }}", PROFILE)
        started = time.process_time()
        assert range(2_000_000).count("a") == 0
        numbers = range(int(2_000_000 * 0.5 / (time.process_time() - started)))  # half a second
        outcomes = []
        for _ in range(5):
            outcomes.append(template.render({"numbers": numbers}).message)
            outcomes.append(str(signal.getitimer(signal.ITIMER_VIRTUAL)))
        return outcomes

    end = in_child(go)
    assert set(end.result[1::2]) == {"(0.0, 0.0)"}
    assert end.result[-2] == "stopped: time limit of 1 s for all renders of one template"


def test_a_template_cannot_catch_the_bound() -> None:
    source = "{% for i in range(9) %}" + NESTED_RANGE + "{% endfor %}{{ nothing is defined }}"
    assert render(source).result.error == "RenderStopped"


def test_every_kind_of_render_is_bounded() -> None:
    def go() -> Any:
        template = ChatTemplate(NESTED_RANGE, PROFILE)
        return [template.render_with_spans({})[0].error, template.trace({})[0].error]

    assert in_child(go).result == ["RenderStopped", "RenderStopped"]


def test_the_time_between_renders_does_not_count() -> None:
    def go() -> Any:
        template = ChatTemplate("{{ x }}", PROFILE)
        texts = []
        for number in range(4):
            started = time.process_time()
            while time.process_time() - started < 0.4:
                pass
            texts.append(template.render({"x": number}).text)
        return texts

    # More than one render may take (0.3 s, or 0.8 s where the kernel acts), and more than all together may (1 s).
    end = in_child(go)
    assert (end.signal, end.result) == (None, ["0", "1", "2", "3"])


def test_trusted_memory_lifts_the_cap_and_sets_it_again() -> None:
    def go() -> Any:
        before, _ = resource.getrlimit(resource.RLIMIT_DATA)
        with trusted_memory():
            kept = bytearray(200 * MIB)
        after, _ = resource.getrlimit(resource.RLIMIT_DATA)
        return len(kept), after - before, ChatTemplate("{{ 'a' * 999999999 }}", PROFILE).render({}).error

    size, grown, error = in_child(go).result
    assert size == 200 * MIB
    assert 190 * MIB < grown < 230 * MIB
    assert error == "RenderStopped"


def test_no_core_files_are_written() -> None:
    assert in_child(lambda: resource.getrlimit(resource.RLIMIT_CORE)[0]).result == 0


def test_without_arming_nothing_is_bounded_or_changed() -> None:
    handler = signal.getsignal(signal.SIGPROF)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    assert ChatTemplate("{{ x }}", PROFILE).render({"x": 1}).text == "1"
    assert not limits.Limits.armed
    assert signal.getsignal(signal.SIGPROF) == handler
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
