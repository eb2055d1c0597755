"""Results of earlier runs, by content: template, tokenizer, rules, version, options. Wrong or unreadable entries are
misses.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from template_lint.model import Directive, Finding, Place, Severity, Skipped, TemplateReport, Verdict
from template_lint.version import __version__

if TYPE_CHECKING:
    from template_lint.job import Job

_FORMAT = 1


class ReportCache:
    """One JSON file per checked template in the user's cache folder (``TEMPLATE_LINT_CACHE`` names another)."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or _default_folder()
        self._program = _program_digest()

    def key(self, job: Job) -> str:
        """sha256 over everything that can change the report."""
        parts = {
            "format": _FORMAT,
            "program": self._program,
            "name": job.copy.name,
            "file": job.copy.file,
            "source": job.copy.source,
            "copies": [[c.name, c.file, c.pointer, c.loader, c.source] for c in job.snapshot.copies],
            "effective": [[c.name, c.file, c.pointer] for c in job.snapshot.templates],
            "profile": job.profile.version,
            "codes": job.codes,
            "variables": job.variables,
            "tokenizer": dict(job.tokenizer.files) if job.tokenizer else None,
            "conversations": [scenario._asdict() for scenario in job.conversations],
            "force_tools": job.force_tools,
            "selection_error": job.selection_error,
            "display": job.display,
            "compare_engines": job.compare_engines,
            "responses": _responses(job),
        }
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def load(self, key: str) -> TemplateReport | None:
        """The stored report, or None."""
        try:
            return _from_json(json.loads(self._path(key).read_text(encoding="utf-8")))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, key: str, report: TemplateReport) -> None:
        """Store a report. A cache that cannot be written is no cache, and no error."""
        path = self._path(key)
        try:
            data = json.dumps(_to_json(report), default=str)
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(data, encoding="utf-8")
            temporary.replace(path)
        except (OSError, ValueError):
            with contextlib.suppress(OSError, UnboundLocalError):
                temporary.unlink()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def _default_folder() -> Path:
    named = os.environ.get("TEMPLATE_LINT_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "template-lint" / "reports"


def _program_digest() -> str:
    """Names, sizes and times of our own files: an edited rule must not be answered from the cache.

    The examples beside the rules are left out: no report depends on them, and there are many.
    """
    root = os.path.dirname(__file__)  # noqa: PTH120  (pathlib costs more than the walk)
    rules = os.path.join(root, "rules")  # noqa: PTH118
    lines: list[str] = []
    pending = [root]
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name != "__pycache__":
                        pending.append(entry.path)
                elif entry.name.endswith(".py") or not folder.startswith(rules):
                    status = entry.stat()
                    lines.append(f"{entry.path[len(root) :]} {status.st_size} {status.st_mtime_ns}")
    lines.sort()
    return hashlib.sha256("\n".join([__version__, *lines]).encode("utf-8", "surrogatepass")).hexdigest()


def _responses(job: Job) -> list[Any]:
    """The model's own parser of responses, which is run by the installed transformers, whatever the profile."""
    if not job.snapshot.config.keys() & {"response_template", "response_schema"}:
        return []
    from template_lint.facts.response_parser import SCHEMA_KEY, TEMPLATE_KEY, installed_transformers

    return [*(job.snapshot.config.get(key) for key in (TEMPLATE_KEY, SCHEMA_KEY)), installed_transformers()]


def _to_json(report: TemplateReport) -> dict[str, Any]:
    return {
        **report._asdict(),
        "verdict": report.verdict._asdict(),
        "skipped": [skip._asdict() for skip in report.skipped],
        "findings": [
            {
                **finding._asdict(),
                "severity": finding.severity.value,
                "place": finding.place and finding.place._asdict(),
            }
            for finding in report.findings
        ],
        "directives": [{**item._asdict(), "place": item.place._asdict()} for item in report.directives],
    }


def _from_json(data: dict[str, Any]) -> TemplateReport:
    findings = [
        Finding(
            **{
                **finding,
                "severity": Severity(finding["severity"]),
                "place": Place(**finding["place"]) if finding["place"] else None,
            }
        )
        for finding in data["findings"]
    ]
    skipped = [Skipped(**skip) for skip in data["skipped"]]
    directives = [Directive(**{**item, "place": Place(**item["place"])}) for item in data["directives"]]
    return TemplateReport(
        **{
            **data,
            "verdict": Verdict(**data["verdict"]),
            "findings": findings,
            "skipped": skipped,
            "directives": directives,
        }
    )
