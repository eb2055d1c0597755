"""The last line of a run: what was counted, hidden, and not looked at."""

from __future__ import annotations

from template_lint.model import Report, Summary
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.place import title
from template_lint.report.layout.wording import nothing_of, renders_without_tools

_NAMED = 5


def count(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 error``, ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def counts(errors: int, warnings: int, infos: int) -> str:
    """Return the counts that are not zero, or ``no findings``."""
    parts = [count(n, noun) for n, noun in ((errors, "error"), (warnings, "warning"), (infos, "info")) if n]
    return ", ".join(parts) or "no findings"


def summary_line(report: Report) -> str:
    """Return the summary of a report in one sentence: what was found, hidden (and by what), and not looked at."""
    total = report.summary()
    parts = [f"checked {count(total.templates, 'template')}: {counts(total.errors, total.warnings, total.infos)}"]
    if total.suppressed:
        parts.append(f"{count(total.suppressed, 'finding')} suppressed{_by(total)}")
    if total.hidden:
        parts.append(f"{count(total.hidden, 'finding')} below --min-severity")
    if total.skipped:
        parts.append(f"{count(total.skipped, 'rule')} skipped")
    if total.unchecked:
        parts.append(f"{count(total.unchecked, 'target')} not checked")
    if total.unrendered:
        verb = "renders" if total.unrendered == 1 else "render"
        verdicts = [template.verdict for _, template in report.unrendered]
        nothing = nothing_of(next(filter(renders_without_tools, verdicts), verdicts[0]))
        parts.append(f"{count(total.unrendered, 'template')} {verb} {nothing}")
    if total.excluded:
        parts.append(f"{count(total.excluded, 'path')} excluded")
    return "; ".join(parts) + f" (transformers {report.profile})"


def _by(total: Summary) -> str:
    kinds = ((total.inline, "inline"), (total.configured, "configuration"), (total.baselined, "baseline"))
    present = [(number, kind) for number, kind in kinds if number]
    if len(present) == 1:
        return f" ({present[0][1]})"
    return f" ({', '.join(f'{number} {kind}' for number, kind in present)})"


def unrendered_lines(report: Report) -> list[str]:
    """Return a line for each of the first templates that render nothing (with tools), and the number of the others."""
    lines = []
    for target, template in report.unrendered[:_NAMED]:
        hint = "; exclude it if it is not meant for tools" if renders_without_tools(template.verdict) else ""
        what = nothing_of(template.verdict)
        lines.append(f"{title(target, template)} renders {what}: most rules could not look at it{hint}")
    more = len(report.unrendered) - _NAMED
    return [*lines, f"so {'does' if more == 1 else 'do'} {count(more, 'more template')}"] if more > 0 else lines


def note_lines(report: Report) -> list[str]:
    """Return what the reader may want to act on beside the findings: stale baseline entries, ignores not honoured."""
    notes = []
    if report.baseline is not None and report.baseline.stale:
        stale, file = report.baseline.stale, visible(report.baseline.file)
        verb, them = ("is", "it") if stale == 1 else ("are", "them")
        notes.append(f"{count(stale, 'finding')} of {file} {verb} there no more; --prune-baseline removes {them}")
    if report.not_honoured:
        verb, them = ("is", "it") if report.not_honoured == 1 else ("are", "them")
        what = count(report.not_honoured, "inline ignore")
        notes.append(f"{what} {verb} not honoured: no local file of yours; --inline-ignores honours {them}")
    return notes


def statistics_lines(report: Report, canvas: Canvas) -> list[str]:
    """Return a table of rules and how many findings each has that nothing hides, the most frequent first."""
    from template_lint.report.layout.table import Cell, table

    names = {finding.rule: finding.name for finding in report.findings}
    rules = sorted(report.by_rule().items(), key=lambda item: (-item[1], item[0]))
    rows = [(Cell(str(number)), Cell(rule, "bold"), Cell(visible(names[rule]))) for rule, number in rules]
    return list(table(rows, canvas, header=("findings", "rule", "name"), right=frozenset({0}))) if rows else []


def unchecked_lines(report: Report) -> list[str]:
    """Return one line per target that could not be checked, with the reason."""
    return [
        f"not checked: {visible(target.target)}: {visible(target.error.message)}"
        for target in report.targets
        if target.error is not None
    ]
