"""The audit as JUnit XML: one test case per rule, passes included, so that a gate shows what was asked."""

from __future__ import annotations

from typing import TextIO
from xml.etree import ElementTree

from template_lint.audit.findings import audit_rules, findings, not_asked
from template_lint.audit.run import Audit
from template_lint.model import Severity
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible


def write(audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
    """Write one document. Errors are failures; warnings and infos pass and say so in their output."""
    found = {finding.rule: finding for finding in findings(audit)}
    skipped = {item.rule: item.reason for item in not_asked(audit)}
    summary = audit.summary
    unread = [(visible(audit.files[file]), visible(reason)) for file, reason in summary.unreadable]
    suite = ElementTree.Element("testsuite", name=f"rollouts of {visible(audit.request.target)}")
    failures = 0
    for rule in audit_rules():
        case = ElementTree.SubElement(
            suite, "testcase", classname="template_lint.TLA", name=f"{rule.code} {rule.name}", time="0"
        )
        if rule.code in skipped:
            ElementTree.SubElement(case, "skipped", message=skipped[rule.code])
        finding = found.get(rule.code)
        if finding is None:
            continue
        text = f"{visible(finding.message)}\nfix: {visible(finding.remedy)}"
        if finding.severity is Severity.ERROR:
            failures += 1
            element = ElementTree.SubElement(case, "failure", message=visible(finding.message), type=finding.rule)
        else:
            element = ElementTree.SubElement(case, "system-out")
        element.text = text
    case = ElementTree.SubElement(
        suite, "testcase", classname="template_lint.audit", name="every row was read", time="0"
    )
    if summary.bad_rows or unread:
        failures += 1
        files = "; ".join(f"{name}: {reason}" for name, reason in unread)
        message = f"{summary.bad_rows} bad rows" + (f"; {files}" if files else "")
        element = ElementTree.SubElement(case, "failure", message=message, type="unreadable")
        element.text = "\n".join(
            f"{visible(audit.files[error.origin.file])}:{error.origin.row}: {visible(error.message)}"
            for error in summary.errors
        )
    counts = {"tests": str(len(suite)), "failures": str(failures), "errors": "0", "skipped": str(len(skipped))}
    for name, value in {**counts, "time": "0"}.items():
        suite.set(name, value)
    totals = {name: value for name, value in counts.items() if name != "skipped"}
    root = ElementTree.Element("testsuites", {"name": "template-lint", **totals})
    root.append(suite)
    ElementTree.indent(root)
    out.write('<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n")
