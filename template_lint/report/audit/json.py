"""The audit as JSON, schema version 1: everything that the other formats show. Changes to it are additions only.

The same trajectories give the same bytes, whoever read them and in however many pieces.
"""

from __future__ import annotations

from typing import Any, TextIO

from template_lint.audit.auditor import ScoreOptions
from template_lint.audit.findings import findings, is_sound, not_asked
from template_lint.audit.model import Strip
from template_lint.audit.run import Audit
from template_lint.audit.summary import origin_as_json, tally_as_json
from template_lint.report.json import dumps
from template_lint.report.layout.canvas import Canvas
from template_lint.version import __version__

SCHEMA_VERSION = 1


def write(audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
    """Write one indented JSON document with a line feed at its end."""
    out.write(dumps(document(audit), ascii_only=True) + "\n")


def document(audit: Audit) -> dict[str, Any]:
    """Return the audit as plain data."""
    summary, files = audit.summary, audit.files
    found = findings(audit)
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "template-lint", "version": __version__},
        "target": audit.request.target,
        "layout": audit.fields.name,
        "fields": dict(sorted(audit.fields.paths.items())),
        "score": _score(audit.request.score),
        "files": files,
        "sound": is_sound(audit, found),
        "complete": not summary.bad_rows and not summary.unreadable,
        "counts": {
            "rows": summary.rows,
            "trajectories": summary.trajectories,
            "tokens": summary.tokens,
            "sampled_tokens": summary.sampled,
            "with_logprobs": summary.with_logprobs,
            "with_trainer_logprobs": summary.with_trainer,
            "bad_rows": summary.bad_rows,
        },
        "assumed": dict(sorted(summary.assumed.items())),
        "bad_rows": {
            "kinds": dict(sorted(summary.bad_kinds.items())),
            "first": [
                {**origin_as_json(error.origin, files), "kind": error.kind, "message": error.message}
                for error in summary.errors
            ],
        },
        "unreadable": [{"file": files[file], "reason": reason} for file, reason in summary.unreadable],
        "findings": [
            {
                "rule": finding.rule,
                "name": finding.name,
                "severity": finding.severity.value,
                "message": finding.message,
                "remedy": finding.remedy,
                "file": finding.file,
                "evidence": finding.evidence,
            }
            for finding in found
        ],
        "skipped": [{"rule": skipped.rule, "reason": skipped.reason} for skipped in not_asked(audit)],
        "rules": {rule: tally_as_json(tally, files) for rule, tally in sorted(summary.tallies.items())},
        "drift": {
            "counts": dict(sorted(summary.drift.items())),
            "histograms": {"drifted_share": summary.drift_shares.coarse(0.01)},
            "worst": [_strip(strip, files) for strip in summary.worst_drift],
        },
        "health": None if (health := summary.health.as_json()) is None else {**health, "worst": _worst(audit)},
    }


def _score(score: ScoreOptions | None) -> dict[str, Any] | None:
    if score is None:
        return None
    return {"model": score.model, "dtype": score.dtype, "apply_sampling": score.apply_sampling}


def _worst(audit: Audit) -> list[dict[str, Any]]:
    return [_strip(strip, audit.files) for strip in audit.summary.worst_ratio]


def _strip(strip: Strip, files: list[str]) -> dict[str, Any]:
    return {
        **origin_as_json(strip.origin, files),
        "score": round(strip.score, 9),
        "what": strip.what,
        "length": strip.length,
        "start": strip.start,
        "tokens": [token._asdict() for token in strip.tokens],
        "again": [{"id": token_id, "text": text} for token_id, text in strip.again],
    }
