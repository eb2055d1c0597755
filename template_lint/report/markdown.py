"""A page in GitHub Flavoured Markdown, for a job summary: what is wrong, where, and what to do about it.

The worst comes first. The page stays below what GitHub takes for the summary of a step; what is left out is counted.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple, TextIO

from template_lint.model import Finding, Place, Report, Severity, TargetReport, TemplateReport
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.divergence import divergence
from template_lint.report.layout.escape import defused, visible
from template_lint.report.layout.excerpt import excerpt
from template_lint.report.layout.markdown_text import code, details, fenced, prose
from template_lint.report.layout.repository import Repository
from template_lint.report.layout.summary import count, counts, note_lines, statistics_lines, summary_line
from template_lint.report.layout.wording import (
    cause_note,
    live,
    not_asked,
    nothing_checked,
    scenario_names,
    unchecked,
    verdict_words,
)

MAX_BYTES = 960_000
"""GitHub takes 1 MiB for the summary of a step."""
MAX_TOLD = 50
"""Templates that are told with their findings; of the others the table shows the verdict."""
_MAX_LISTED = 100
_CANVAS = Canvas(width=100)
_ICON = {Severity.ERROR: "❌", Severity.WARNING: "⚠️"}


class Entry(NamedTuple):
    """A template, or a target as a whole (None), with its live findings, worst first."""

    target: TargetReport
    template: TemplateReport | None
    findings: list[Finding]

    @property
    def worst(self) -> Severity | None:
        """The severity of the worst finding."""
        return self.findings[0].severity if self.findings else None

    @property
    def icon(self) -> str:
        """How the template did, at a glance."""
        if self.worst in _ICON:
            return _ICON[self.worst]
        return "❓" if self.template is not None and self.template.unrendered else "✅"

    def number(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return sum(finding.severity is severity for finding in self.findings)


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the page, at most MAX_BYTES of UTF-8."""
    for number, block in enumerate(_blocks(report, Repository())):
        if number:
            out.write("\n")
        for line in block.split("\n"):
            out.write(defused(line) + "\n")


def _blocks(report: Report, repository: Repository) -> Iterator[str]:
    entries = sorted(_entries(report), key=lambda entry: [-entry.number(severity) for severity in reversed(Severity)])
    room = MAX_BYTES
    for block in (
        f"## {_headline(report, entries)}",
        f"template-lint {prose(summary_line(report))}.",
        *(f"Note: {prose(line)}." for line in note_lines(report)),
        *_not_checked(report, repository),
        *_tables(entries, repository),
    ):
        room -= _size(block)
        yield block
    last = [*_not_asked(report), *_statistics(report)]
    room -= sum(map(_size, last))
    grave = [entry for entry in entries if entry.worst in _ICON]
    told = 0
    for entry in grave[:MAX_TOLD]:
        section = "\n\n".join(_section(entry, repository))
        if _size(section) > room - 1000:
            break
        room -= _size(section)
        told += 1
        yield section
    if left := grave[told:]:
        number = sum(len(entry.findings) for entry in left)
        yield (
            f"**Not told here: {count(number, 'finding')} in {count(len(left), 'more template')}.** "
            "`--output json=FILE` has all of them; `template-lint check TARGET` tells those of one."
        )
    yield from last


def _size(block: str) -> int:
    # Each line may get a backslash that keeps it from being a command.
    return len(block.encode("utf-8", "backslashreplace")) + block.count("\n") + block.count("##[") + 3


def _entries(report: Report) -> Iterator[Entry]:
    for target in report.targets:
        if about := live(target.findings):
            yield Entry(target, None, about)
        for template in target.templates:
            yield Entry(target, template, live(template.findings))


def _headline(report: Report, entries: list[Entry]) -> str:
    total = report.summary()
    open_ends = len(list(unchecked(report)))
    rest = f", {open_ends} not checked" if open_ends else ""
    for severity, number in ((Severity.ERROR, total.errors), (Severity.WARNING, total.warnings)):
        if number:
            places = sum(entry.number(severity) > 0 for entry in entries if entry.template is not None)
            of = f"{places} of " if total.templates > 1 else ""
            where = f" in {of}{count(total.templates, 'template')}" if places else ""
            return f"{_ICON[severity]} {count(number, severity.value)}{where}{rest}"
    if open_ends or nothing_checked(report):
        return f"❓ Not everything could be checked: {open_ends or 'no target'}" + (" not checked" if open_ends else "")
    return f"✅ {count(total.templates, 'template')}, no errors or warnings"


def _not_checked(report: Report, repository: Repository) -> Iterator[str]:
    entries = list(unchecked(report))
    if not entries:
        return
    lines = [
        f"- {code(repository.title(entry.target, entry.template))}: {prose(entry.message)}"
        for entry in entries[:_MAX_LISTED]
    ]
    if len(entries) > _MAX_LISTED:
        lines.append(f"- and {len(entries) - _MAX_LISTED} more")
    yield "### Not checked"
    yield "\n".join(lines)


def _tables(entries: list[Entry], repository: Repository) -> Iterator[str]:
    """One row per template; of many, those without errors and warnings are folded away."""
    grave = [entry for entry in entries if entry.icon != "✅"]
    clean = [entry for entry in entries if entry.icon == "✅"]
    if len(entries) <= _MAX_LISTED // 5:
        grave, clean = entries, []
    if grave:
        yield _table(grave, repository)
    if clean:
        noun = "template has" if len(clean) == 1 else "templates have"
        yield details(f"✅ {len(clean)} {noun} no errors or warnings", [_table(clean, repository)])


def _table(entries: list[Entry], repository: Repository) -> str:
    rows = ["| | template | in tool loops | errors | warnings | infos |", "|---|---|---|--:|--:|--:|"]
    left, room = 0, MAX_BYTES // 4
    for entry in entries:
        words = "about the target" if entry.template is None else verdict_words(entry.template.verdict)
        numbers = " | ".join(str(entry.number(severity)) for severity in reversed(Severity))
        name = code(repository.title(entry.target, entry.template), cell=True)
        row = f"| {entry.icon} | {name} | {prose(words)} | {numbers} |"
        room -= _size(row)
        if room < 0:
            left += 1
        else:
            rows.append(row)
    if left:
        rows.append(f"| | and {left} more | | | | |")
    return "\n".join(rows)


def _not_asked(report: Report) -> Iterator[str]:
    templates = [template for target in report.targets for template in target.templates]
    groups = not_asked(templates)
    if not groups:
        return
    lines = []
    for rules, reason, number in groups[:_MAX_LISTED]:
        where = f", in {number} of {len(templates)} templates" if len(templates) > 1 else ""
        lines.append(f"- {', '.join(rules)}: {prose(reason)}{where}")
    if len(groups) > _MAX_LISTED:
        lines.append(f"- and {len(groups) - _MAX_LISTED} more reasons")
    number = len({rule for rules, *_ in groups for rule in rules})
    yield details(f"{count(number, 'rule')} could not be asked", ["\n".join(lines)])


def _statistics(report: Report) -> Iterator[str]:
    lines = list(statistics_lines(report, _CANVAS)) if report.statistics else []
    if lines:
        yield details("findings by rule", [fenced("\n".join(lines), "text")])


def _section(entry: Entry, repository: Repository) -> Iterator[str]:
    target, template, findings = entry
    numbers = counts(*(entry.number(severity) for severity in reversed(Severity)))
    words = numbers if template is None else f"{verdict_words(template.verdict)}: {numbers}"
    yield f"### {entry.icon} {code(repository.title(target, template))} {prose(words)}"
    if template is not None:
        yield from _remedy(target, template, repository)
    shown: set[Place] = set()
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    warnings = [finding for finding in findings if finding.severity is Severity.WARNING]
    infos = [finding for finding in findings if finding.severity is Severity.INFO]
    for finding in errors or warnings:
        yield from _finding(target, template, finding, shown, repository)
    if errors and warnings:
        blocks = [block for each in warnings for block in _finding(target, template, each, shown, repository)]
        yield details(count(len(warnings), "warning"), blocks)
    if infos:
        yield details(count(len(infos), "info"), ["\n".join(_brief(finding) for finding in infos)])
    hidden = [finding for finding in (target if template is None else template).findings if finding.accepted]
    if hidden:
        lines = [_hidden(finding) for finding in hidden[:_MAX_LISTED]]
        lines += [f"- and {len(hidden) - _MAX_LISTED} more"] if len(hidden) > _MAX_LISTED else []
        yield details(f"{count(len(hidden), 'finding')} suppressed", ["\n".join(lines)])


def _remedy(target: TargetReport, template: TemplateReport, repository: Repository) -> Iterator[str]:
    """The command that shows a fix, where there may be one."""
    verdict = template.verdict
    if verdict.patch is not None:
        yield f"A training template fixes it: {code(verdict.patch)}. This shows it, and the proof:"
    elif verdict.tito in ("unstable", "breaks-on-user"):
        yield "This looks for a repair, and proves it:"
    else:
        return
    name = repository.name(target)
    if target.kind != "stdin" and visible(name) == name:
        name = f"./{name}" if name.startswith("-") else name
        yield fenced(f"template-lint fix {shlex.quote(name)}", "sh")
    else:
        yield fenced("template-lint fix TARGET", "sh")


def _finding(
    target: TargetReport, template: TemplateReport | None, finding: Finding, shown: set[Place], repository: Repository
) -> Iterator[str]:
    where = _at(target, template, finding, repository)
    yield f"#### {finding.severity.value} {finding.rule} {prose(finding.name)}{where}"
    yield f"**What:** {prose(finding.message)}"
    drawn: list[str] = []
    note = cause_note(finding.evidence.get("cause") or {})
    if template is not None and finding.place is not None and finding.place not in shown:
        shown.add(finding.place)
        drawn += excerpt(template.source, finding.place, _CANVAS, note=note, around=1, indent="")
    elif note:
        drawn.append(f"{note}; the place is shown above" if finding.place in shown else note)
    drawn += divergence(finding.evidence, _CANVAS, indent="")
    if drawn:
        yield fenced("\n".join(drawn), "text")
    if finding.remedy:
        yield f"**Fix:** {prose(finding.remedy)} More: {code(f'template-lint explain {finding.rule}')}"
    if seen := scenario_names(finding):
        yield f"Seen in: {prose(seen)}"


def _at(target: TargetReport, template: TemplateReport | None, finding: Finding, repository: Repository) -> str:
    spot = repository.spot(target, template, finding)
    if template is not None and finding.place is not None:
        embedded = template.pointer is not None or spot is None or spot.place is None
        where = f", {'template ' if embedded else ''}line {finding.place.line}"
        file = finding.file or template.file
        name = file if target.kind in ("hub", "directory") and file else ""
        return where + (f" of {code(name)}" if name else "")
    if spot is not None:
        return f", {code(spot.path)}" + (f" line {spot.line}" if spot.line else "")
    return ""


def _brief(finding: Finding) -> str:
    place = f", line {finding.place.line}" if finding.place else ""
    return f"- {finding.rule} {prose(finding.name)}{place}: {prose(finding.message)}"


def _hidden(finding: Finding) -> str:
    reason = f": {prose(finding.suppression_reason)}" if finding.suppression_reason else ""
    return f"- {finding.rule} {prose(finding.name)} ({prose(finding.suppressed or '')}{reason})"
