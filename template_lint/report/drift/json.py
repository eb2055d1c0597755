"""The drift report as data, schema version 1: a plain rendering of the model. Changes to it are additions only."""

from __future__ import annotations

from typing import Any, TextIO

from template_lint.lock.drift.model import Drift, DriftReport, TemplateDrift
from template_lint.report.json import dumps, finding_data
from template_lint.report.layout.canvas import Canvas
from template_lint.version import __version__

SCHEMA_VERSION = 1


def write(report: DriftReport, out: TextIO, *, canvas: Canvas) -> None:
    """Write one indented JSON document with a line feed at its end."""
    out.write(dumps(document(report), ascii_only=not _speaks_unicode(out)) + "\n")


def _speaks_unicode(out: TextIO) -> bool:
    encoding = getattr(out, "encoding", None)
    return encoding is None or encoding.lower().replace("-", "").startswith("utf")


def document(report: DriftReport) -> dict[str, Any]:
    """The report as a dict of plain data."""
    numbers = [drift.grade.number for drift in report.drifts if drift.error is None and drift.grade.number is not None]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "template-lint", "version": __version__},
        "drifts": [_drift(drift) for drift in report.drifts],
        "summary": {
            "comparisons": len(report.drifts),
            "not_compared": sum(drift.error is not None for drift in report.drifts),
            "compared_in_part": sum(bool(drift.unchecked) for drift in report.drifts),
            "worst_grade": max(numbers, default=None),
        },
    }


def _drift(drift: Drift) -> dict[str, Any]:
    return {
        "target": drift.target,
        "grade": drift.grade.number,
        "grade_name": drift.grade.value,
        "sentence": drift.sentence,
        "advice": list(drift.advice),
        "before": drift.before._asdict(),
        "after": drift.after._asdict(),
        "files": [change._asdict() for change in drift.files],
        "templates": [_template(template) for template in drift.templates],
        "unmatched_templates": list(drift.unmatched),
        "tokenizer": _plain(drift.tokenizer),
        "findings": [finding_data(finding) for finding in drift.findings],
        "not_compared": list(drift.unchecked),
        "anchor": _plain(drift.anchor),
        "error": _plain(drift.error),
    }


def _template(template: TemplateDrift) -> dict[str, Any]:
    prompts = template.prompts
    return {
        "name": template.name,
        "file": template.file,
        "verdict": {"before": template.before_verdict, "after": template.after_verdict},
        "prompts": {
            "conversations": prompts.conversations,
            "renders": prompts.renders,
            "differing": prompts.names,
            "first": _plain(prompts.first),
            "causes": prompts.causes,
            "gained": list(prompts.gained),
            "ids_not_compared": prompts.ids_skipped,
        },
        "diff": {
            "lines": list(template.source_diff),
            "added": template.source_added,
            "removed": template.source_removed,
        },
        "new_findings": [finding_data(finding) for finding in template.new],
        "fixed_findings": [finding_data(finding) for finding in template.fixed],
        "losses": list(template.losses),
        "gains": list(template.gains),
        "aspects": [aspect._asdict() for aspect in template.aspects],
        "training_template": _plain(template.patch),
        "fitting_training_template": template.fits,
    }


def _plain(value: Any) -> Any:
    """A named tuple with all that is in it as dicts and lists."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _plain(item) for key, item in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
