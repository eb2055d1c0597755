"""JUnit XML for test reports: a suite per template, a case per rule, passes and skips included.

A live error or warning fails its case. A live info passes and says so; a suppressed finding is a skip with its reason;
what could not be checked is an error. There are no times: the same report gives the same bytes.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

from template_lint.model import Finding, Report, Severity, TargetReport, TemplateReport
from template_lint.report.json import speaks_unicode
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.repository import Repository
from template_lint.report.layout.sentences import Told, sentences, told
from template_lint.report.layout.summary import count
from template_lint.report.layout.wording import Unchecked, nothing_checked, unchecked, verdict_words

_MAX_MESSAGE = 500


class Case(NamedTuple):
    """One test case: ``outcome`` is the element that says how it went (None: passed), with a message and a text."""

    name: str
    outcome: str | None = None
    message: str = ""
    kind: str = ""
    text: str = ""
    file: str | None = None
    line: int | None = None


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write one XML document with a line feed at its end. Only ASCII where the stream can carry no more."""
    repository = Repository()
    suites = list(_suites(report, repository))
    root = ET.Element("testsuites", {"name": "template-lint", **_totals(case for _, cases in suites for case in cases)})
    for name, cases in suites:
        suite = ET.SubElement(root, "testsuite", {"name": name, **_totals(cases)})
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", {"name": "transformers", "value": visible(report.profile)})
        for case in cases:
            _add(suite, name, case)
    ET.indent(root)
    # What would be a command in the log of a GitHub step is written with references: it reads the same.
    text = re.sub(r"(?m)^(\s*):", r"\1&#58;", ET.tostring(root, encoding="unicode").replace("##[", "#&#35;["))
    if not speaks_unicode(out):
        text = text.encode("ascii", "xmlcharrefreplace").decode("ascii")
    out.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')


def _suites(report: Report, repository: Repository) -> Iterator[tuple[str, list[Case]]]:
    """Yield the suites: one per template, before them one about the target where there is something to say of it."""
    troubles: dict[tuple[int, int | None], Unchecked] = {
        (id(entry.target), entry.template and id(entry.template)): entry for entry in unchecked(report)
    }
    for target in report.targets:
        findings = told(target, repository, hidden=True)
        about = [one for one in findings if one.template is None]
        trouble = troubles.get((id(target), None))
        if about or trouble is not None:
            cases = [_trouble("target can be checked", trouble)] if trouble is not None else []
            yield visible(repository.title(target, None)), cases + list(_by_rule(about, repository).values())
        for template in target.templates:
            own = [one for one in findings if one.template is template]
            yield (
                visible(repository.title(target, template)),
                _cases(target, template, own, troubles.get((id(target), id(template))), repository),
            )
    if nothing_checked(report):
        yield "template-lint", [Case("targets", "error", "nothing was checked: there was no target", "nothing-matched")]


def _cases(
    target: TargetReport,
    template: TemplateReport,
    findings: list[Told],
    trouble: Unchecked | None,
    repository: Repository,
) -> list[Case]:
    name = "verdict"
    grave = any(_fails(one.finding) for one in findings)
    verdict = Case(name, text=verdict_words(template.verdict))
    cases = {"": _trouble(name, trouble) if trouble is not None and not grave else verdict}
    cases |= _by_rule(findings, repository)
    for code in template.checked:
        cases.setdefault(code, Case(_title(code)))
    for skipped in template.skipped:
        case = Case(_title(skipped.rule), "skipped", f"not checked: {visible(skipped.reason)}")
        cases.setdefault(skipped.rule, case)
    return [cases[code] for code in sorted(cases)]


def _by_rule(findings: list[Told], repository: Repository) -> dict[str, Case]:
    rules: dict[str, list[Told]] = {}
    for one in findings:
        rules.setdefault(one.finding.rule, []).append(one)
    return {code: _case(rules[code], repository) for code in sorted(rules)}


def _case(findings: list[Told], repository: Repository) -> Case:
    """The case of one rule that found something."""
    first = findings[0].finding
    failing = sorted((one for one in findings if _fails(one.finding)), key=lambda one: -one.finding.severity.rank)
    hidden = [one.finding for one in findings if one.finding.suppressed is not None]
    text = "\n\n".join(_text(one, repository) for one in findings)
    spot = (failing or findings)[0].spot
    placed = Case(
        f"{first.rule} {first.name}", text=text, file=spot and visible(spot.path), line=spot and spot.first_line
    )
    if failing:
        worst = failing[0].finding
        message = visible(worst.message) + (f" (and {len(failing) - 1} more)" if len(failing) > 1 else "")
        return placed._replace(outcome="failure", message=message, kind=worst.severity.value)
    if len(hidden) == len(findings):
        reasons = "; ".join(dict.fromkeys(_reason(finding) for finding in hidden))
        return placed._replace(outcome="skipped", message=f"{count(len(hidden), 'finding')} suppressed: {reasons}")
    return placed


def _text(one: Told, repository: Repository) -> str:
    finding, spot = one.finding, one.spot
    where = ""
    if spot is not None:
        place = spot.place
        where = visible(spot.path) + (
            f":{place.line}:{place.column}" if place else f":{spot.line}" if spot.line else ""
        )
    head = f"{where}: {finding.severity.value} {finding.rule}".removeprefix(": ")
    hidden = f"Suppressed ({_reason(finding)})" if finding.suppressed is not None else ""
    return "\n".join(filter(None, [head, *sentences(one, repository), hidden]))


def _reason(finding: Finding) -> str:
    reason = f": {visible(finding.suppression_reason)}" if finding.suppression_reason else ""
    return f"{visible(finding.suppressed or '')}{reason}"


def _fails(finding: Finding) -> bool:
    return finding.suppressed is None and finding.severity is not Severity.INFO


def _title(code: str) -> str:
    """Return code and name of a rule; of one that is not known, the code."""
    from template_lint.rules.registry import rule_names

    name = rule_names().get(code)
    return code if name is None else f"{code} {name}"


def _trouble(name: str, entry: Unchecked) -> Case:
    return Case(name, "error", f"not checked: {visible(entry.message)}", visible(entry.kind))


def _totals(cases: Iterable[Case]) -> dict[str, str]:
    outcomes = [case.outcome for case in cases]
    return {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("failure")),
        "errors": str(outcomes.count("error")),
        "skipped": str(outcomes.count("skipped")),
    }


def _add(suite: ET.Element, classname: str, case: Case) -> None:
    """Append a case. Its class is its suite, so that one rule has one history per template."""
    attributes = {"name": case.name, "classname": classname}
    if case.file is not None:
        attributes["file"] = case.file
    if case.line is not None:
        attributes["line"] = str(case.line)
    element = ET.SubElement(suite, "testcase", attributes)
    if case.outcome is not None:
        cut = case.message if len(case.message) <= _MAX_MESSAGE else case.message[: _MAX_MESSAGE - 1] + "…"
        outcome = ET.SubElement(element, case.outcome, {"message": cut})
        if case.kind:
            outcome.set("type", case.kind)
        outcome.text = case.text or None
    elif case.text:
        ET.SubElement(element, "system-out").text = case.text
