"""Findings as SARIF results: message, place, fingerprint, suppression."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from template_lint.model import Finding, Place
from template_lint.report.layout.escape import visible
from template_lint.report.layout.excerpt import source_lines
from template_lint.report.layout.repository import Repository, Spot
from template_lint.report.layout.sarif_rules import LEVEL
from template_lint.report.layout.sentences import Told, sentences

BASE = "%SRCROOT%"
_MAX_MESSAGE = 4000
_MAX_SNIPPET = 1000
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def results(findings: Iterable[Told], rules: dict[str, int], repository: Repository) -> list[dict[str, Any]]:
    """Return one result per finding, in order; ``rules`` says where in the list of descriptors a rule stands."""
    seen: Counter[str] = Counter()
    return [_result(one, rules, repository, seen) for one in findings]


def message(one: Told, repository: Repository) -> str:
    """Return the text of a message: no text of a template can make a link of it, as ``[x](y)`` would."""
    text = "\n".join(sentences(one, repository)).replace("](", "] (")
    return text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 1] + "…"


def uri(path: str) -> str:
    """Return a relative path with slashes as a relative URI reference."""
    data = path.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in data)


def _result(one: Told, rules: dict[str, int], repository: Repository, seen: Counter[str]) -> dict[str, Any]:
    finding = one.finding
    digest = _fingerprint(one, repository)
    seen[digest] += 1
    result: dict[str, Any] = {"ruleId": finding.rule}
    if finding.rule in rules:
        result["ruleIndex"] = rules[finding.rule]
    result |= {
        "level": LEVEL[finding.severity],
        "message": {"text": message(one, repository)},
        "locations": [_location(one, repository)],
        "partialFingerprints": {"primaryLocationLineHash": f"{digest}:{seen[digest]}"},
        "suppressions": _suppressions(finding),
        "properties": _properties(one, repository),
    }
    return result


def _location(one: Told, repository: Repository) -> dict[str, Any]:
    """The file, where there is one in the repository; and the template, where that is no file of its own."""
    spot, template = one.spot, one.template
    location: dict[str, Any] = {}
    if spot is not None:
        location["physicalLocation"] = {"artifactLocation": {"uri": uri(spot.path), "uriBaseId": BASE}}
        region = _region(spot)
        if region is not None:
            location["physicalLocation"]["region"] = region
    if spot is None or one.target.kind == "hub" or (template is not None and template.pointer is not None):
        name = repository.title(one.target, template)
        if template is not None and template.file and one.target.kind in ("hub", "directory"):
            name += f" {template.file}"
        if template is not None and template.pointer is not None:
            name += f"#{template.pointer}"
        location["logicalLocations"] = [{"fullyQualifiedName": visible(name), "kind": "resource"}]
    return location


def _region(spot: Spot) -> dict[str, Any] | None:
    """Columns count UTF-16 code units, as ``columnKind`` says; places count code points."""
    place = spot.place
    if place is None:
        return None if spot.line is None else {"startLine": spot.line}
    lines = source_lines(spot.text)
    region: dict[str, Any] = {
        "startLine": place.line,
        "startColumn": _units(lines, place.line, place.column),
        "endLine": place.end_line,
        "endColumn": _units(lines, place.end_line, place.end_column),
    }
    snippet = cut(spot.text, place)
    if 0 < len(snippet) <= _MAX_SNIPPET:
        region["snippet"] = {"text": snippet}
    return region


def _units(lines: list[str], line: int, column: int) -> int:
    before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return len(before.encode("utf-16-le", "surrogatepass")) // 2 + 1


def cut(text: str, place: Place) -> str:
    """Return what stands at a place, its lines joined by line feeds."""
    lines = source_lines(text)[place.line - 1 : place.end_line]
    if not lines:
        return ""
    lines[-1] = lines[-1][: place.end_column - 1]
    lines[0] = lines[0][place.column - 1 :]
    return "\n".join(lines)


def _fingerprint(one: Told, repository: Repository) -> str:
    """What stays the same when lines move and revisions change: rule, target, scenario, and the text that is blamed."""
    target, template, finding, _ = one
    if template is not None and finding.place is not None:
        blamed = cut(template.source, finding.place)
    else:
        blamed = f"{finding.file or ''} {re.sub('[0-9]+', '', finding.message)}"
    parts = [
        finding.rule,
        target.repo or repository.name(target),
        template.name if template is not None else "",
        finding.scenario or "",
        " ".join(blamed.split()),
    ]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _suppressions(finding: Finding) -> list[dict[str, str]]:
    if finding.suppressed is None:
        return []
    kind = "inSource" if finding.suppressed == "inline" else "external"
    reason = f": {finding.suppression_reason}" if finding.suppression_reason else ""
    return [{"kind": kind, "status": "accepted", "justification": visible(f"{finding.suppressed}{reason}")}]


def _properties(one: Told, repository: Repository) -> dict[str, Any]:
    target, template, finding, _ = one
    properties = {
        "target": repository.name(target),
        "revision": target.revision,
        "template": template.name if template is not None else None,
        "scenario": finding.scenario,
        "remedy": finding.remedy or None,
    }
    return {key: visible(value) for key, value in properties.items() if value is not None}
