"""One finding per line, ``path:line:column: CODE severity message``, for editors, grep and CI annotations."""

from __future__ import annotations

from typing import TextIO

from template_lint.model import Report
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.place import location


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the findings that are not suppressed. One that blames no line stands at 1:1, so that every line parses."""
    for target in report.targets:
        for template in target.templates:
            for finding in template.findings:
                if finding.suppressed is None:
                    where = location(target, template, finding) + ("" if finding.place else ":1:1")
                    out.write(f"{where}: {finding.rule} {finding.severity.value} {visible(finding.message)}\n")
