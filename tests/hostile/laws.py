"""What must hold of a check whatever the templates are: nothing escapes, bounds hold, outputs parse, codes are true."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import time
import traceback
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from template_lint.cli.check import exit_code
from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding, Report, Severity, TargetReport
from template_lint.rendering import limits
from template_lint.report import formats, writer
from template_lint.report.layout.canvas import Canvas

SOFT, HARD, WHOLE = 0.15, 0.3, 0.5
"""Seconds of processor time: short bounds, so that many templates can be tried."""

OWN_SECONDS = 12.0
"""Wall time for all that is not rendering: reading the source, the report, other work on the machine."""

PARENT_KILOBYTES = 300 * 1024
OPTIONS = Options(transformers="5.24", cache=False, jobs=1)


class Escape(NamedTuple):
    """A law that a template breaks."""

    law: str
    detail: str
    source: str


@contextlib.contextmanager
def short_bounds() -> Iterator[None]:
    """Bounds for workers that are forked meanwhile."""
    names = ("SOFT_SECONDS", "HARD_SECONDS", "TEMPLATE_SECONDS")
    before = [getattr(limits, name) for name in names]
    for name, value in zip(names, (SOFT, HARD, WHOLE), strict=True):
        setattr(limits, name, value)
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(limits, name, value)


def escapes(sources: Mapping[str, str], folder: Path, *, twice: bool = False) -> list[Escape]:
    """Check templates in one run and name every law that is broken; ``twice`` also asks for the same report again."""
    for name, source in sources.items():
        (folder / f"{name}.jinja").write_bytes(source.encode("utf-8", "surrogatepass"))
    paths = [str(folder / f"{name}.jinja") for name in sources]
    seconds: dict[str, float] = {}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()

    def progress(done: int, _total: int, name: str) -> None:
        nonlocal started
        if name:
            seconds[Path(name).stem] = time.monotonic() - started
        started = time.monotonic()

    with short_bounds():
        try:
            report = check(paths, OPTIONS, progress=progress)
        except Exception:
            return _blame(sources, folder, traceback.format_exc())
        found = [] if not twice else list(_differences(report, check(paths, OPTIONS), sources))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    if grown > PARENT_KILOBYTES:
        found.append(Escape("memory", f"the parent grew by {grown >> 10} MiB", "\n".join(sources.values())))
    for name, taken in seconds.items():
        if taken > WHOLE + HARD + OWN_SECONDS:
            found.append(Escape("time", f"{taken:.1f} s", sources[name]))
    for source, target in zip(sources.values(), report.targets, strict=True):
        found += [Escape(law, detail, source) for law, detail in _broken(report, target)]
    return found


def _blame(sources: Mapping[str, str], folder: Path, trace: str) -> list[Escape]:
    """Which of several templates the exception comes from."""
    if len(sources) == 1:
        return [Escape("no exception escapes", trace, next(iter(sources.values())))]
    found = [escape for name, source in sources.items() for escape in escapes({name: source}, folder)]
    return found or [Escape("no exception escapes", trace, "\n".join(sources.values()))]


def _differences(one: Report, other: Report, sources: Mapping[str, str]) -> Iterator[Escape]:
    for source, first, second in zip(sources.values(), one.targets, other.targets, strict=True):
        stopped = any("stopped" in finding.message for target in (first, second) for finding in findings_of(target))
        # Which render a bound in seconds stops is chance.
        if not stopped and first != second:
            yield Escape("the same report again", "the second run differs", source)


def findings_of(target: TargetReport) -> list[Finding]:
    """All findings of a target."""
    return [finding for template in target.templates for finding in template.findings]


def _broken(report: Report, target: TargetReport) -> Iterator[tuple[str, str]]:
    alone = report._replace(targets=[target])
    yield from _wrong_code(alone, target)
    for name in formats():
        out = io.StringIO()
        try:
            writer(name)(alone, out, canvas=Canvas())
            text = out.getvalue()
            text.encode("utf-8")
            if name in ("json", "sarif", "code-scanning"):
                json.loads(text)
            elif name == "junit":
                ElementTree.fromstring(text)
        except Exception:
            yield f"output {name} is valid", traceback.format_exc()
        else:
            if "\x1b" in text or "\0" in text:
                yield f"output {name} is printable", "a control character comes through"


def _wrong_code(alone: Report, target: TargetReport) -> Iterator[tuple[str, str]]:
    code = int(exit_code(alone, Severity.ERROR))
    errors = [finding for finding in alone.findings if finding.severity is Severity.ERROR and not finding.suppressed]
    checked = target.error is None and all(template.verdict.tito != "unrenderable" for template in target.templates)
    expected = 1 if errors else 0 if checked and target.templates else 3
    if code != expected:
        yield "exit codes are true", f"{code} where {expected} is right"
    for template in target.templates:
        if len(template.checked) + len(template.skipped) == 0:
            yield "nothing is left out", "no rule was asked"
        if template.verdict.tito == "unrenderable" and not template.findings:
            yield "what renders for nobody is never green", "no finding at all"
