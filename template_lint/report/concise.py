"""One finding per line, ``path:line:column: CODE severity message``, for editors, grep and CI annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from template_lint.model import Finding, Report
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import defused, visible
from template_lint.report.layout.place import location, target_location
from template_lint.report.layout.wording import live


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the findings that are not suppressed. One that blames no line stands at 1:1, so that every line parses."""
    for where, finding in _places(report):
        line = f"{where}: {finding.rule} {finding.severity.value} {visible(finding.message)}"
        out.write(defused(line) + "\n")


def _places(report: Report) -> Iterator[tuple[str, Finding]]:
    for target in report.targets:
        for finding in live(target.findings):
            where = target_location(target, finding)
            yield (where if target.anchor or finding.place else f"{where}:1:1"), finding
        for template in target.templates:
            for finding in template.findings:
                if finding.suppressed is None:
                    yield location(target, template, finding) + ("" if finding.place else ":1:1"), finding
