"""A run over hostile templates ends in time, raises nothing, and says of each what is wrong."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Report, TemplateReport
from template_lint.rendering import limits
from template_lint.workers import settle
from tests.hostile.templates import BROKEN, GOOD, ODD, STOPPED
from tests.threads import only_ours

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds on memory and processor time need Linux")

OPTIONS = Options(transformers="5.24", cache=False, jobs=2)
SOFT, HARD, WHOLE = 0.15, 0.3, 0.5


class Run(NamedTuple):
    report: Report
    seconds: float
    parent_growth: int

    def of(self, name: str) -> TemplateReport:
        [target] = [target for target in self.report.targets if Path(target.target).stem == name]
        [template] = target.templates
        return template

    def codes(self, name: str) -> set[str]:
        return {finding.rule for finding in self.of(name).findings}


def write(folder: Path, templates: dict[str, str]) -> None:
    for name, source in templates.items():
        (folder / f"{name}.jinja").write_bytes(source.encode("utf-8", "surrogatepass"))


def measured(folder: Path) -> Run:
    """Check a folder with bounds short enough for a test. Workers are forked, so they inherit them."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    report = check([str(folder)], OPTIONS)
    return Run(report, time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def run_over(tmp_path_factory: pytest.TempPathFactory, templates: dict[str, str]) -> Run:
    folder = tmp_path_factory.mktemp("hostile")
    write(folder, templates | GOOD)
    # A fixture of a module comes before those of each test, the one that looks at threads among them.
    with pytest.MonkeyPatch.context() as patch, only_ours():
        patch.setattr(limits, "SOFT_SECONDS", SOFT)
        patch.setattr(limits, "HARD_SECONDS", HARD)
        patch.setattr(limits, "TEMPLATE_SECONDS", WHOLE)
        return measured(folder)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_over(tmp_path_factory, STOPPED)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_over(tmp_path_factory, BROKEN)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_over(tmp_path_factory, ODD)


@pytest.mark.parametrize("name", STOPPED)
def test_what_must_be_stopped_is_stopped(stopped: Run, name: str) -> None:
    assert stopped.codes(name) & {"TL508", "TL002"}, [f.message[:200] for f in stopped.of(name).findings]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_has_a_finding(broken: Run, name: str) -> None:
    report = broken.of(name)
    # A template that renders for nobody is never green: an error, or a verdict that says so.
    assert report.findings, report.verdict
    assert report.verdict.tito in ("unrenderable", "no-tools")


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_is_borne(odd: Run, name: str) -> None:
    assert odd.of(name).verdict.tito


@pytest.mark.parametrize("kind", ["stopped", "broken", "odd"])
def test_bounds_of_the_run(kind: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(kind)
    count = len(run.report.targets)
    assert run.report.summary().unchecked == 0
    # Two processes; each template has its renders' time, one hard stop, and its own share of ordinary work, all of it
    # on a machine that may be at other work.
    assert run.seconds < count * (WHOLE + HARD + 5) / 2
    assert run.parent_growth < 200 * 1024, "the parent grew by more than 200 MiB"


@pytest.mark.parametrize("kind", ["stopped", "broken", "odd"])
def test_neighbours_do_not_notice(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    run: Run = request.getfixturevalue(kind)
    write(tmp_path, GOOD)
    alone = check([str(tmp_path)], OPTIONS)
    for target in alone.targets:
        [expected] = target.templates
        got = run.of(Path(target.target).stem)
        assert got.verdict == expected.verdict
        assert got.prompt_fingerprint == expected.prompt_fingerprint
        assert [f._replace(file=None) for f in got.findings] == [f._replace(file=None) for f in expected.findings]


@pytest.mark.parametrize("kind", ["stopped", "broken", "odd"])
def test_findings_can_be_printed(kind: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(kind)
    for finding in run.report.findings:
        if finding.rule == "TL004":
            continue  # see test_a_name_of_900_kilobytes
        assert 0 < len(finding.message) < 5_000
        assert finding.remedy
        if finding.place is not None:
            assert 1 <= finding.place.line <= finding.place.end_line
            assert finding.place.column >= 1


def test_a_name_of_900_kilobytes(odd: Run) -> None:
    assert all(len(finding.message) < 5_000 for finding in odd.of("long-name").findings)


DEPTHS = [18, 19, 20, 21, 50, 95, 98, 100, 102, 150, 200, 230, 300, 400]


@pytest.mark.parametrize(
    ("name", "opening", "core", "closing"),
    [
        ("if", "{% if messages %}", "x", "{% endif %}"),
        ("for", "{% for m in messages[:1] %}", "x", "{% endfor %}"),
        ("parentheses", "(", "messages|length", ")"),
        ("not", "not ", "tools", ""),
        ("call", "(1, ", "1", ")"),
        ("else", "{% if tools %}t{% else %}", "x", "{% endif %}"),
        ("set-block", "{% set x %}", "x", "{% endset %}"),
        ("filter-block", "{% filter upper %}", "x", "{% endfilter %}"),
        ("generation", "{% generation %}", "x", "{% endgeneration %}"),
        ("inline-if", "1 if tools else ", "2", ""),
    ],
)
def test_every_depth_of_nesting(tmp_path: Path, name: str, opening: str, core: str, closing: str) -> None:
    # Somewhere between shallow and hopeless the plain compilation succeeds and the traced one does not.
    sources = {}
    for depth in DEPTHS:
        nested = opening * depth + core + closing * depth
        printed = nested if opening.startswith("{%") else "{{ " + nested + " }}"
        tail = "{% for m in messages %}{{ m.content }}{{ 'e' if loop.last else 'x' }}{% endfor %}{{ tools }}"
        sources[f"{name}-{depth:03}"] = printed + tail
    write(tmp_path, sources)
    report = check([str(tmp_path)], OPTIONS)
    assert len(report.targets) == len(DEPTHS)
    for target in report.targets:
        [template] = target.templates
        # The lookahead is there at every depth: found where the template compiles, else the reason why it does not.
        codes = {finding.rule for finding in template.findings}
        assert codes & {"TL002", "TL101", "TL104", "TL205", "TL508"}, (target.target, codes)


def test_the_79_bytes_with_the_real_bound_on_a_render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (limits.SOFT_SECONDS, limits.HARD_SECONDS, limits.TEMPLATE_SECONDS) == (2.0, 5.0, 20.0)
    monkeypatch.setattr(limits, "TEMPLATE_SECONDS", 3.0)
    source = STOPPED["nested-range"]
    assert len(source.encode()) <= 79
    (tmp_path / "hang.jinja").write_text(source)
    settle()
    started = sum(os.times()[2:4])
    report = check([str(tmp_path)], OPTIONS)
    assert [finding.rule for finding in report.findings if finding.rule == "TL508"] == ["TL508"]
    settle()
    # Seconds of the processor, as others may be at work here. The clock ticks: of 3 seconds it may see a little less.
    assert 2.5 < sum(os.times()[2:4]) - started < 9
    assert report.targets[0].templates[0].verdict.tito == "unrenderable"


def command(*arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-c", "from template_lint.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=90,
    )


def test_exit_code_of_the_command(tmp_path: Path) -> None:
    write(tmp_path, {name: STOPPED[name] for name in ("string-bomb", "power")} | {"nul": BROKEN["nul"]} | GOOD)
    done = command("check", "--no-cache", "--transformers", "5.24", str(tmp_path))
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "TL508" in done.stdout
    assert "\0" not in done.stdout


def test_rendering_one_from_the_command_line(tmp_path: Path) -> None:
    write(tmp_path, {"bomb": STOPPED["string-bomb"]})
    done = command("render", "--transformers", "5.24", str(tmp_path / "bomb.jinja"))
    assert done.returncode in (1, 2, 3)
    assert "Traceback" not in done.stdout + done.stderr
    assert "limit" in done.stderr
