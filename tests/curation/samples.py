"""Reports made by hand, for tests of what happens to findings after they are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from template_lint.config import Options
from template_lint.curation import Asked
from template_lint.model import Finding, Place, Report, Severity, TargetReport, TemplateReport, Verdict

SOURCE = "{% if loop.last   and\n x %}{{ a }}{% endif %}{% if loop.last and x %}{% endif %}"
FIRST = Place(1, 7, 2, 3, 6, SOURCE.index(" %}"))
SECOND_START = SOURCE.rindex("loop.last")
SECOND = Place(2, 32, 2, 47, SECOND_START, SECOND_START + len("loop.last and x"))


def finding(rule: str = "TL101", place: Place | None = FIRST, **changes: Any) -> Finding:
    fields: dict[str, Any] = {"name": "x", "severity": Severity.ERROR, "message": "m", "remedy": "r", "place": place}
    return Finding(rule=rule, **{**fields, **changes})


def template(*findings: Finding, **changes: Any) -> TemplateReport:
    fields: dict[str, Any] = {
        "name": "default",
        "file": "chat_template.jinja",
        "sha256": "a" * 64,
        "source": SOURCE,
        "verdict": Verdict("stable"),
        "prompt_fingerprint": "",
        "capabilities": {},
        "findings": list(findings),
        "skipped": [],
        "checked": ["TL101", "TL102", "TL103", "TL200"],
    }
    return TemplateReport(**{**fields, **changes})


def target(*templates: TemplateReport, name: str = "chat_template.jinja", **changes: Any) -> TargetReport:
    return TargetReport(**{"target": name, "kind": "file", "templates": list(templates), **changes})


def report(*targets: TargetReport) -> Report:
    return Report("5.24", list(targets))


def one(*findings: Finding, folder: Path | None = None) -> Report:
    """A report of one file with these findings."""
    name = "chat_template.jinja"
    return report(target(template(*findings), name=str(folder / name) if folder else name))


def asked(found: Report, options: Options | None = None, **changes: Any) -> Asked:
    codes = frozenset({"TL101", "TL102", "TL103", "TL200", "TL606", "TL901"})
    plain = Asked(options or Options(), sorted(codes), [()] * len(found.targets))
    return plain._replace(**changes)


def suppressed(found: Report) -> list[str | None]:
    return [item.suppressed for item in found.findings]
