"""SARIF for an upload to GitHub code scanning: ``sarif`` without what GitHub misreads.

GitHub opens an alert for a suppressed finding, and refuses the whole log for one finding without a file.
"""

from __future__ import annotations

from typing import TextIO

from template_lint.model import Report
from template_lint.report.json import dumps, speaks_unicode
from template_lint.report.layout.canvas import Canvas
from template_lint.report.sarif import document


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write one indented JSON document with a line feed at its end."""
    out.write(dumps(document(report, for_upload=True), ascii_only=not speaks_unicode(out)) + "\n")
