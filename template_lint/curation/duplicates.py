"""One defect is one finding: what another finding of the template says too is marked, and said there in few words."""

# No postponed annotations: this module is imported at start-up.
from collections.abc import Sequence

from template_lint.model import Finding, Report, TemplateReport, finding_order

DUPLICATE = "duplicate"


def mark_duplicates(report: Report) -> Report:
    """Mark each finding all of whose defects another finding of its template states, at least as severe.

    The other one says in few words what the marked one adds. A rule that was not asked, or whose finding an ignore or
    the baseline hides, speaks for nobody: both know one rule at a time.
    """
    return report._replace(
        targets=[
            target._replace(templates=[_marked(template) for template in target.templates]) for target in report.targets
        ]
    )


def _marked(template: TemplateReport) -> TemplateReport:
    findings = list(template.findings)
    speakers: list[int] = []
    for index in sorted(range(len(findings)), key=lambda index: _rank(findings[index])):
        finding = findings[index]
        if finding.suppressed is not None or not finding.defects:
            continue
        speaker = _speaker(findings, speakers, finding)
        if speaker is None:
            speakers.append(index)
        else:
            findings[speaker] = _saying(findings[speaker], finding)
            reason = f"{findings[speaker].rule} says it"
            findings[index] = finding._replace(suppressed=DUPLICATE, suppression_reason=reason)
    return template._replace(findings=findings) if findings != template.findings else template


def _rank(finding: Finding) -> tuple[int, bool, tuple[int, str, int]]:
    """The gravest first; of equals, those that always stand for themselves."""
    return -finding.severity.rank, bool(finding.brief), finding_order(finding)


def _speaker(findings: Sequence[Finding], speakers: Sequence[int], finding: Finding) -> int | None:
    """The index of the finding that states all that this one does; None where there is none."""
    if not finding.brief:
        return None
    stated = set(finding.defects)
    return next((i for i in speakers if findings[i].rule != finding.rule and stated <= set(findings[i].defects)), None)


def _saying(speaker: Finding, finding: Finding) -> Finding:
    return speaker._replace(message=f"{speaker.message}; {finding.rule} too: {finding.brief}")
