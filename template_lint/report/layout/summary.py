"""The last line of a run: what was counted, hidden, and not looked at."""

from __future__ import annotations

from template_lint.model import Report
from template_lint.report.layout.escape import visible


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 error``, ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counts(errors: int, warnings: int, infos: int) -> str:
    """Return the counts that are not zero, or ``no findings``."""
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning"), (infos, "info")) if n]
    return ", ".join(parts) or "no findings"


def summary_line(report: Report) -> str:
    """Return the summary of a report in one sentence."""
    total = report.summary()
    parts = [f"checked {count(total.templates, 'template')}: {counts(total.errors, total.warnings, total.infos)}"]
    if total.suppressed:
        parts.append(f"{count(total.suppressed, 'finding')} suppressed")
    if total.skipped:
        parts.append(f"{count(total.skipped, 'rule')} skipped")
    if total.unchecked:
        parts.append(f"{count(total.unchecked, 'target')} not checked")
    return "; ".join(parts) + f" (transformers {report.profile})"


def unchecked_lines(report: Report) -> list[str]:
    """Return one line per target that could not be checked, with the reason."""
    return [
        f"not checked: {visible(target.target)}: {visible(target.error.message)}"
        for target in report.targets
        if target.error is not None
    ]
