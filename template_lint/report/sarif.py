"""SARIF 2.1.0, the exchange format of static analysis: everything that was found, hidden findings marked as such.

For an upload to GitHub code scanning there is ``code-scanning``, the part of it that GitHub can take.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TextIO

from template_lint.model import Report
from template_lint.report.json import dumps, speaks_unicode
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.repository import Repository
from template_lint.report.layout.sarif_results import BASE, message, results
from template_lint.report.layout.sarif_rules import LEVEL, descriptors, home
from template_lint.report.layout.sentences import Told, told, worst_first
from template_lint.report.layout.summary import count
from template_lint.report.layout.wording import nothing_checked, unchecked
from template_lint.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000
"""GitHub refuses a run with more."""

_NOTIFICATIONS = {
    "not-asked": "A rule could not be asked.",
    "below-min-severity": "There are findings that the user asked not to see.",
    "results-left-out": "There are more findings than the file may hold.",
    "finding-without-file": "A finding has no file in the repository at which it could be shown.",
}


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write one indented JSON document with a line feed at its end."""
    out.write(dumps(document(report), ascii_only=not speaks_unicode(out)) + "\n")


def document(report: Report, *, for_upload: bool = False) -> dict[str, Any]:
    """Return the SARIF log as a dict.

    ``for_upload`` leaves out what GitHub misreads: suppressed findings, for which it opens alerts; findings without a
    file in the repository, for which it refuses the whole log, and which become notifications; and the id of the run,
    which would override the category that the upload names. A result without a line gets the first one.
    """
    repository = Repository()
    rules = descriptors()
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    findings = [one for target in report.targets for one in told(target, repository, hidden=not for_upload)]
    homeless = [one for one in findings if for_upload and (one.spot is None or not one.spot.inside)]
    if homeless:
        skipped = set(map(id, homeless))
        findings = [one for one in findings if id(one) not in skipped]
    kept, left_out = _bounded(findings)
    notifications = [
        *_unchecked(report, repository),
        *(_homeless(one, index, repository) for one in homeless),
        *_left_out(left_out),
        *_mild(report),
        *_not_asked(report, index),
    ]
    run: dict[str, Any] = {
        "tool": {"driver": _driver(rules, notifications)},
        "invocations": [
            {
                "executionSuccessful": not nothing_checked(report) and not any(unchecked(report)),
                "toolExecutionNotifications": notifications,
            }
        ],
        "originalUriBaseIds": {BASE: {"description": {"text": "The root of the repository that was checked."}}},
        "automationDetails": {"id": "template-lint/"},
        "columnKind": "utf16CodeUnits",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "results": results(kept, index, repository),
        "properties": {"transformers": visible(report.profile)},
    }
    if for_upload:
        del run["automationDetails"]
        _give_lines(run["results"])
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _give_lines(found: list[dict[str, Any]]) -> None:
    """GitHub wants a line for every result: the first one stands for a whole file."""
    for result in found:
        for location in result["locations"]:
            location["physicalLocation"].setdefault("region", {"startLine": 1})


def _driver(rules: list[dict[str, Any]], notifications: list[dict[str, Any]]) -> dict[str, Any]:
    ids = sorted({notification["descriptor"]["id"] for notification in notifications})
    return {
        "name": "template-lint",
        "version": __version__,
        "semanticVersion": __version__,
        **({"informationUri": home()} if home() else {}),
        "rules": rules,
        "notifications": [
            {"id": name, "shortDescription": {"text": _NOTIFICATIONS.get(name, "A target could not be checked.")}}
            for name in ids
        ],
    }


def _bounded(findings: list[Told]) -> tuple[list[Told], list[Told]]:
    """Keep as many findings as GitHub takes, the worst ones, in their order."""
    if len(findings) <= MAX_RESULTS:
        return findings, []
    chosen = set(map(id, worst_first(findings)[:MAX_RESULTS]))
    kept: list[Told] = []
    left_out: list[Told] = []
    for one in findings:
        (kept if id(one) in chosen else left_out).append(one)
    return kept, left_out


def _left_out(findings: list[Told]) -> list[dict[str, Any]]:
    if not findings:
        return []
    by = Counter(one.finding.severity.value for one in findings)
    counts = ", ".join(count(by[severity], severity) for severity in ("error", "warning", "info") if by[severity])
    text = f"left out to stay within {MAX_RESULTS} results: {counts}"
    return [_notification("results-left-out", "warning", text)]


def _mild(report: Report) -> list[dict[str, Any]]:
    hidden = report.summary().hidden
    text = f"{count(hidden, 'finding')} below --min-severity"
    return [_notification("below-min-severity", "note", text)] if hidden else []


def _unchecked(report: Report, repository: Repository) -> list[dict[str, Any]]:
    found = [
        _notification(
            visible(entry.kind),
            "error",
            f"not checked: {visible(repository.title(entry.target, entry.template))}: {visible(entry.message)}",
        )
        for entry in unchecked(report)
    ]
    if nothing_checked(report):
        found.append(_notification("nothing-matched", "error", "nothing was checked: there was no target"))
    return found


def _not_asked(report: Report, index: dict[str, int]) -> list[dict[str, Any]]:
    number = Counter(
        (skipped.rule, skipped.reason)
        for target in report.targets
        for template in target.templates
        for skipped in template.skipped
    )
    return [
        _notification(
            "not-asked",
            "note",
            f"{rule} was not asked of {count(times, 'template')}: {visible(reason)}",
            rule=rule,
            index=index,
        )
        for (rule, reason), times in sorted(number.items())
    ]


def _homeless(one: Told, index: dict[str, int], repository: Repository) -> dict[str, Any]:
    finding = one.finding
    text = f"{finding.rule} {finding.name}: {message(one._replace(spot=None), repository)}"
    return _notification("finding-without-file", LEVEL[finding.severity], text, rule=finding.rule, index=index)


def _notification(
    name: str, level: str, text: str, *, rule: str | None = None, index: dict[str, int] | None = None
) -> dict[str, Any]:
    notification: dict[str, Any] = {"descriptor": {"id": name}, "level": level, "message": {"text": text}}
    if rule is not None:
        place = {"index": index[rule]} if index and rule in index else {}
        notification["associatedRule"] = {"id": rule, **place}
    return notification
