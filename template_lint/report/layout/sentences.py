"""What a finding says to a reader who sees one finding alone, in a review or in a list of alerts. Not escaped."""

from __future__ import annotations

from typing import NamedTuple

from template_lint.model import Finding, TargetReport, TemplateReport
from template_lint.report.layout.escape import visible
from template_lint.report.layout.excerpt import source_lines
from template_lint.report.layout.repository import Repository, Spot
from template_lint.report.layout.wording import live, scenario_names

MAX_EXCERPT = 160


class Told(NamedTuple):
    """A finding with the target and the template it is about (None: the target as a whole) and where it is shown."""

    target: TargetReport
    template: TemplateReport | None
    finding: Finding
    spot: Spot | None


def told(target: TargetReport, repository: Repository, *, hidden: bool = False) -> list[Told]:
    """List the findings of a target, those about all of it first; with ``hidden`` also what is suppressed.

    What is too mild for the user (``min-severity``) is never listed, only counted.
    """
    found: list[tuple[TemplateReport | None, Finding]] = [(None, finding) for finding in target.findings]
    found += [(template, finding) for template in target.templates for finding in template.findings]
    return [
        Told(target, template, finding, repository.spot(target, template, finding))
        for template, finding in found
        if finding.suppressed is None or (hidden and finding.suppressed != "min-severity")
    ]


def worst_first(findings: list[Told]) -> list[Told]:
    """Sort by severity; what is equally bad stays in its order."""
    return sorted(findings, key=lambda told: -told.finding.severity.rank)


def sentences(told: Told, repository: Repository) -> list[str]:
    """Return the lines that tell a finding: what is wrong, where in the template, the fix, and what shows it.

    Every line is visible text. Where the finding is shown at the very place it blames, the second is left out.
    """
    target, template, finding, spot = told
    lines = [visible(finding.message)]
    if template is not None and (spot is None or spot.place is None or template.pointer is not None):
        where = _where(target, template, finding, repository)
        lines += [where] if where else []
    if finding.remedy:
        lines.append(f"Fix: {visible(finding.remedy)}")
    if seen := scenario_names(finding):
        lines.append(f"Seen in: {seen}")
    return lines


def _where(target: TargetReport, template: TemplateReport, finding: Finding, repository: Repository) -> str:
    name = visible(repository.title(target, template))
    file = finding.file or template.file
    if target.kind in ("hub", "directory") and file:
        name += f" {visible(file)}"
    if finding.place is None:
        return f"In {name}." if target.kind == "hub" else ""
    place = finding.place
    lines = source_lines(template.source)
    line = lines[place.line - 1].strip() if place.line <= len(lines) else ""
    shown = visible(line)
    if len(shown) > MAX_EXCERPT:
        shown = shown[: MAX_EXCERPT - 1] + "…"
    return f"In {name}, template line {place.line}, column {place.column}: {shown}"


def severity_counts(target: TargetReport) -> dict[str, int]:
    """Count the live findings of a target and of its templates by severity."""
    counts = {"error": 0, "warning": 0, "info": 0}
    for findings in (target.findings, *(template.findings for template in target.templates)):
        for finding in live(findings):
            counts[finding.severity.value] += 1
    return counts
