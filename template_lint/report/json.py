"""The JSON contract, schema version 1: a plain rendering of the report. Changes to it are additions only."""

from __future__ import annotations

import enum
import json
import math
import re
from collections.abc import Mapping
from typing import Any, TextIO

from template_lint.model import Finding, Report, TargetReport, TemplateReport
from template_lint.report.layout.canvas import Canvas
from template_lint.version import __version__

SCHEMA_VERSION = 1

_SURROGATE = re.compile("[\ud800-\udfff]")


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the report as one indented JSON document with a line feed at its end."""
    out.write(dumps(document(report), ascii_only=not speaks_unicode(out)) + "\n")


def dumps(value: Any, *, ascii_only: bool = False) -> str:
    """Return ``value`` as indented JSON. Lone surrogates, which no encoding can carry, are written as escapes.

    So is ``##[``, which would be a command in the log of a GitHub step: the parsed text is the same.
    """
    text = json.dumps(plain(value), ensure_ascii=ascii_only, indent=2, allow_nan=False).replace("##[", "#\\u0023[")
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def speaks_unicode(out: TextIO) -> bool:
    """Say whether a stream can carry any character."""
    encoding = getattr(out, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "").startswith("utf")


def document(report: Report) -> dict[str, Any]:
    """Return the report as the dict that DESIGN.md describes."""
    summary = report.summary()
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "template-lint", "version": __version__, "profile": report.profile},
        "targets": [_target(target) for target in report.targets],
        "summary": {
            "errors": summary.errors,
            "warnings": summary.warnings,
            "infos": summary.infos,
            "suppressed": summary.suppressed,
            "skipped": summary.skipped,
            "templates": summary.templates,
            "targets": summary.targets,
            "unchecked": summary.unchecked,
            "unrendered": summary.unrendered,
            "suppressed_by": {
                "inline": summary.inline,
                "config": summary.configured,
                "baseline": summary.baselined,
            },
            "hidden": summary.hidden,
            "duplicates": summary.duplicates,
            "excluded": summary.excluded,
            "stale_baseline": report.baseline.stale if report.baseline else 0,
            "not_honoured": report.not_honoured,
            **({"by_rule": report.by_rule()} if report.statistics else {}),
        },
    }


def _target(target: TargetReport) -> dict[str, Any]:
    return {
        "target": target.target,
        "kind": target.kind,
        "repo": target.repo,
        "revision": target.revision,
        "pinned": target.pinned,
        "files": _sorted(target.files),
        "templates": [_template(template) for template in target.templates],
        "findings": [finding_data(finding) for finding in target.findings],
        "error": None if target.error is None else {"kind": target.error.kind, "message": target.error.message},
    }


def _template(template: TemplateReport) -> dict[str, Any]:
    verdict = template.verdict
    return {
        "name": template.name,
        "file": template.file,
        "pointer": template.pointer,
        "sha256": template.sha256,
        "prompt_fingerprint": template.prompt_fingerprint,
        "verdict": {
            "tito": verdict.tito,
            "kwargs": _sorted(verdict.kwargs),
            "patch": verdict.patch,
            "obsolete_patch": verdict.obsolete_patch,
            "appended": _sorted(verdict.appended),
        },
        "capabilities": _sorted(template.capabilities),
        "findings": [finding_data(finding) for finding in template.findings],
        "skipped": [{"rule": skipped.rule, "reason": skipped.reason} for skipped in template.skipped],
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """Return one finding as the contract has it."""
    place = finding.place
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "remedy": finding.remedy,
        "file": finding.file,
        "line": place and place.line,
        "column": place and place.column,
        "end_line": place and place.end_line,
        "end_column": place and place.end_column,
        "scenario": finding.scenario,
        "evidence": _sorted(finding.evidence),
        "fixable": finding.fixable,
        "suppressed": finding.suppressed,
        "suppression_reason": finding.suppression_reason,
    }


def _sorted(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: mapping[key] for key in sorted(mapping)}


def plain(value: Any) -> Any:
    """Return ``value`` in JSON's own types: sets sorted, enums by value, infinities and other objects as text."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((plain(item) for item in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)
