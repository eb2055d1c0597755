"""The report for a person at a terminal: the verdict first, then each finding with its cause, evidence and remedy.

A handful of targets is told in full; of many, the clean ones are only counted and the others get a line per finding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from template_lint.model import Finding, Place, Report, Severity, TargetReport, TemplateReport
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.divergence import divergence
from template_lint.report.layout.escape import defused, visible, visible_cells
from template_lint.report.layout.excerpt import excerpt
from template_lint.report.layout.place import location, target_location, title
from template_lint.report.layout.summary import counts, note_lines, statistics_lines, summary_line, unrendered_lines
from template_lint.report.layout.width import head, width
from template_lint.report.layout.wording import cause_note, live, not_asked, scenario_names, verdict_words

FULL_UP_TO = 20
_FULL_FINDINGS = 3

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold blue"}


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the whole report; its last line counts findings and what was hidden, skipped or not checked."""
    lines = _full(report, canvas) if len(report.targets) <= FULL_UP_TO else _compact(report, canvas)
    for line in lines:
        out.write(defused(line) + "\n")


def _full(report: Report, canvas: Canvas) -> Iterator[str]:
    for target in report.targets:
        if target.error is not None:
            yield from _unchecked(target, canvas)
            yield ""
        if grave := live(target.findings):
            yield from _about(target, grave, canvas)
            yield ""
        for template in target.templates:
            yield from _headline(target, template, report.profile if len(report.targets) == 1 else None, canvas)
            yield from _findings(target, template, canvas)
            if canvas.card:
                from template_lint.report.layout.card import card_lines

                yield ""
                yield from card_lines(template, canvas)
            yield from _skipped([template], canvas)
            yield ""
    yield from _summary(report, canvas)


def _compact(report: Report, canvas: Canvas) -> Iterator[str]:
    clean = 0
    unrendered = report.unrendered
    templates = []
    for target in report.targets:
        if target.error is not None:
            yield from _unchecked(target, canvas)
        yield from _about(target, [f for f in live(target.findings) if f.severity is not Severity.INFO], canvas)
        for template in target.templates:
            templates.append(template)
            findings = [f for f in live(template.findings) if f.severity is not Severity.INFO]
            if not findings:
                clean += (target, template) not in unrendered
                continue
            yield from _headline(target, template, None, canvas)
            for finding in findings:
                place = f"{finding.place.line}:{finding.place.column} " if finding.place else ""
                label = f"  {finding.severity.value} {finding.rule} "
                text = visible_cells(f"{place}{finding.name}: {finding.message}")
                yield canvas.paint(label, _STYLE[finding.severity]) + head(text, canvas.width - len(label))
    for line in unrendered_lines(report):
        yield from canvas.hang("NOT CHECKED ", line, style="bold magenta", rest="  ")
    if clean:
        noun = "template has" if clean == 1 else "templates have"
        yield f"{canvas.paint('ok', 'bold green')}   {clean} {noun} no errors or warnings"
    yield from _skipped(templates, canvas)
    yield from _summary(report, canvas)


def _unchecked(target: TargetReport, canvas: Canvas) -> list[str]:
    assert target.error is not None
    text = f"{visible(target.target)}: {visible(target.error.message)}"
    return canvas.hang("NOT CHECKED ", text, style="bold magenta", rest="  ")


def _about(target: TargetReport, findings: list[Finding], canvas: Canvas) -> Iterator[str]:
    """What was found about a target as a whole, not about one of its templates."""
    for finding in findings:
        label = f"{finding.severity.value} {finding.rule} "
        yield from canvas.hang(
            label, f"{finding.name}: {visible(finding.message)}", style=_STYLE[finding.severity], rest="  "
        )
        yield from canvas.hang("  at ", target_location(target, finding))
        if finding.remedy:
            yield from canvas.hang("  fix: ", visible(finding.remedy), style="bold green")


def _headline(target: TargetReport, template: TemplateReport, profile: str | None, canvas: Canvas) -> list[str]:
    number = Counter(f.severity for f in live(template.findings))
    text = f"{title(target, template)}  {verdict_words(template.verdict)}: " + counts(
        number[Severity.ERROR], number[Severity.WARNING], number[Severity.INFO]
    )
    suppressed = sum(finding.accepted for finding in template.findings)
    text += f", {suppressed} suppressed" if suppressed else ""
    label, style = "ok   ", "bold green"
    if number[Severity.ERROR]:
        label, style = "FAIL ", "bold red"
    elif template.unrendered:
        label, style = "NOT CHECKED ", "bold magenta"
    elif number[Severity.WARNING]:
        label, style = "WARN ", "bold yellow"
    # The last line of the report names the profile in any case; here it must not cost a line.
    mirrored = f" (transformers {profile})"
    if profile is not None and width(label + text + mirrored) <= canvas.width:
        text += mirrored
    lines = canvas.hang(label, text, style=style)
    if target.pinned and target.anchor is not None:
        commit = f"commit {target.revision[:12]}" if target.revision else "the files"
        lines += canvas.hang("     ", visible(f"{commit}, as pinned in {target.anchor.file}:{target.anchor.line}"))
    if template.verdict.patch is not None:
        lines += canvas.hang("     ", f"training template that fixes it: {visible(template.verdict.patch)}")
    if template.verdict.obsolete_patch is not None:
        gone = f"the training template {visible(template.verdict.obsolete_patch)} is no longer needed for this model"
        lines += canvas.hang("     ", gone)
    return lines


def _findings(target: TargetReport, template: TemplateReport, canvas: Canvas) -> Iterator[str]:
    shown: set[Place] = set()
    findings = live(template.findings)
    grave = [finding for finding in findings if finding.severity is not Severity.INFO]
    full = _told_in_full(grave)
    for finding in grave[:full]:
        yield ""
        yield from _finding(target, template, finding, shown, canvas)
    if grave[full:]:
        yield ""
    for finding in grave[full:]:
        yield from _brief(finding, canvas)
    if grave[full:]:
        yield from canvas.hang("", f"in brief; --select {grave[-1].rule} tells one of these in full", rest="  ")
    infos = [finding for finding in findings if finding.severity is Severity.INFO]
    if infos:
        yield ""
    for finding in infos:
        yield from _brief(finding, canvas)


def _told_in_full(findings: list[Finding]) -> int:
    """Return how many of the findings, worst first, are told in full so that a report fits a screen: at least one."""
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    return len(findings) if len(findings) <= _FULL_FINDINGS else max(1, min(errors, _FULL_FINDINGS))


def _brief(finding: Finding, canvas: Canvas) -> list[str]:
    place = f" ({finding.place.line}:{finding.place.column})" if finding.place else ""
    label = f"{finding.severity.value} {finding.rule} "
    text = visible(f"{finding.name}: {finding.message}{place}")
    return canvas.hang(label, text, style=_STYLE[finding.severity], rest="  ")


def _finding(
    target: TargetReport, template: TemplateReport, finding: Finding, shown: set[Place], canvas: Canvas
) -> Iterator[str]:
    label = f"{finding.severity.value} {finding.rule} "
    yield from canvas.hang(
        label, f"{finding.name}: {visible(finding.message)}", style=_STYLE[finding.severity], rest="  "
    )
    cause = finding.evidence.get("cause") or {}
    note = cause_note(cause)
    if finding.place is not None:
        where = location(target, template, finding)
        if finding.place in shown:
            yield from canvas.hang("  at ", f"{where} (shown above){'; ' if note else ''}{note}")
        else:
            shown.add(finding.place)
            yield from canvas.hang("  at ", where)
            yield from excerpt(template.source, finding.place, canvas, note=note, around=_around(finding))
    elif cause.get("source"):
        yield from canvas.hang("  cause ", f"{visible(str(cause['source']))} {note}".rstrip())
    yield from divergence(finding.evidence, canvas)
    scenarios = scenario_names(finding)
    if scenarios:
        yield from canvas.hang("  seen in: ", scenarios)
    if finding.remedy:
        yield from canvas.hang("  fix: ", visible(finding.remedy), style="bold green")


def _around(finding: Finding) -> int:
    """Give errors a line of context on each side; warnings make do with the line, so that a report fits a screen."""
    return 1 if finding.severity is Severity.ERROR else 0


def _skipped(templates: list[TemplateReport], canvas: Canvas) -> Iterator[str]:
    """Group the rules that could not be asked by reason: one line each, however many templates share it."""
    for rules, reason, number in not_asked(templates):
        where = f" in {number} of {len(templates)} templates" if len(templates) > 1 else ""
        yield from canvas.hang("not checked: ", f"{', '.join(rules)} ({visible(reason)}){where}", rest="  ")


def _summary(report: Report, canvas: Canvas) -> list[str]:
    total = report.summary()
    lines = statistics_lines(report, canvas) if report.statistics else []
    lines += [""] if lines else []
    lines += [line for note in note_lines(report) for line in canvas.hang("note: ", note, rest="  ")]
    style = "bold red" if total.errors else "bold yellow" if total.warnings or total.unchecked else "bold green"
    return [*lines, *(canvas.paint(line, style) for line in canvas.hang("", summary_line(report)))]
