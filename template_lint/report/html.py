"""One self-contained page: findings, renders side by side, token strips, the card, the template with marked lines.

No script and nothing from elsewhere: a content policy in the page forbids both. Text of templates is escaped by Jinja,
and made visible first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from template_lint.model import Finding, Place, Report, Severity, TargetReport, TemplateReport
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.card import card_rows
from template_lint.report.layout.escape import visible
from template_lint.report.layout.excerpt import source_lines
from template_lint.report.layout.place import location, target_location, title
from template_lint.report.layout.summary import count, counts, summary_line, unchecked_lines
from template_lint.report.layout.wording import cause_note, live, not_asked, scenario_names, verdict_words
from template_lint.version import __version__

MOST_TEMPLATES = 40
_SAME, _DIFFERENT = 160, 800
_FOLDER = Path(__file__).parent / "page"
_APPENDED = {"TL101": "tool", "TL103": "assistant", "TL104": "user", "TL105": "system"}
_STATES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "ok", None: "ok"}


def write(report: Report, out: TextIO, *, canvas: Canvas) -> None:
    """Write the page. Of very many templates the worst are told in full, the others are rows of a table."""
    templates = [(target, template) for target in report.targets for template in target.templates]
    order = sorted(range(len(templates)), key=lambda index: _badness(templates[index][1]))
    told = set(order[:MOST_TEMPLATES])
    worst = _worst([f for f in report.findings if f.suppressed is None])
    unread = unchecked_lines(report)
    views = [_template(index, *templates[index], single=len(templates) == 1) for index in sorted(told)]
    page = _environment().get_template("report.html.jinja")
    text = page.render(
        title=_page_title(report),
        style=(_FOLDER / "report.css").read_text(encoding="utf-8"),
        state="warning" if worst is not Severity.ERROR and unread else _STATES[worst],
        state_words={Severity.ERROR: "errors", Severity.WARNING: "warnings"}.get(worst or Severity.INFO, "no errors"),
        summary=summary_line(report),
        unchecked=[line.removeprefix("not checked: ") for line in unread],
        rows=[_row(index, *templates[index], told=index in told) for index in range(len(templates))],
        left_out=_left_out(len(templates)),
        targets=[_target(target) for target in report.targets],
        templates=views,
        finding_box=_finding_box,
        footer=f"template-lint {__version__}, transformers {report.profile}",
    )
    out.write(text.rstrip("\n") + "\n")


@cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _finding_box(finding: dict[str, Any]) -> Any:
    from markupsafe import Markup

    return Markup(_environment().get_template("finding.html.jinja").render(finding=finding))  # it escapes by itself


def _page_title(report: Report) -> str:
    names = [visible(target.target) for target in report.targets]
    return f"template-lint: {names[0] if len(names) == 1 else f'{len(names)} targets'}"


def _left_out(number: int) -> str:
    if number <= MOST_TEMPLATES:
        return ""
    return f"Only the {MOST_TEMPLATES} templates with the most severe findings are told in full below."


def _badness(template: TemplateReport) -> tuple[int, int, int]:
    number = Counter(finding.severity for finding in live(template.findings))
    return -number[Severity.ERROR], -number[Severity.WARNING], -number[Severity.INFO]


def _worst(findings: list[Finding]) -> Severity | None:
    return max((finding.severity for finding in findings), key=lambda severity: severity.rank, default=None)


def _counts(template: TemplateReport) -> str:
    number = Counter(finding.severity for finding in live(template.findings))
    return counts(number[Severity.ERROR], number[Severity.WARNING], number[Severity.INFO])


def _row(index: int, target: TargetReport, template: TemplateReport, *, told: bool) -> dict[str, Any]:
    return {
        "anchor": f"t{index}" if told else "",
        "title": title(target, template),
        "state": _STATES[_worst(live(template.findings))],
        "verdict": verdict_words(template.verdict),
        "counts": _counts(template),
    }


def _target(target: TargetReport) -> dict[str, Any]:
    findings = [_plain_finding(finding, target_location(target, finding)) for finding in target.findings]
    return {"title": visible(target.target), "findings": findings}


def _template(index: int, target: TargetReport, template: TemplateReport, *, single: bool) -> dict[str, Any]:
    anchor = f"t{index}"
    lines = source_lines(template.source)
    findings = sorted(template.findings, key=lambda finding: (finding.suppressed is not None, -finding.severity.rank))
    return {
        "anchor": anchor,
        "title": title(target, template),
        "state": _STATES[_worst(live(template.findings))],
        "verdict_word": template.verdict.tito,
        "verdict": verdict_words(template.verdict),
        "counts": _counts(template),
        "patch": visible(template.verdict.patch or ""),
        "findings": [_finding(anchor, target, template, finding, lines) for finding in findings],
        "skipped": [{"rules": ", ".join(item.rules), "reason": visible(item.reason)} for item in not_asked([template])],
        "reasons": count(len(not_asked([template])), "reason"),
        "card": card_rows(template),
        "strips": [_strip(strip) for strip in (template.display or {}).get("strips", [])],
        "size": count(len(lines), "line"),
        "lines": _marked_lines(lines, live(template.findings)),
        "open": single,
    }


def _plain_finding(finding: Finding, where: str) -> dict[str, Any]:
    hidden = ""
    if finding.suppressed is not None:
        hidden = f"suppressed ({finding.suppressed}{': ' if finding.suppression_reason else ''}"
        hidden += visible(finding.suppression_reason or "") + ")"
    return {
        "severity": finding.severity.value,
        "rule": finding.rule,
        "name": finding.name,
        "message": visible(finding.message),
        "remedy": visible(finding.remedy),
        "hidden": hidden,
        "where": where,
        "line": None,
        "anchor": "",
        "note": "",
        "excerpt": [],
        "scenarios": "",
        "pair": None,
    }


def _finding(
    anchor: str, target: TargetReport, template: TemplateReport, finding: Finding, lines: list[str]
) -> dict[str, Any]:
    place = finding.place
    view = _plain_finding(finding, location(target, template, finding))
    view |= {"scenarios": scenario_names(finding), "pair": _pair(template, finding)}
    if place is not None and 1 <= place.line <= len(lines):
        around = range(max(1, place.line - 1), min(len(lines), place.line + 1) + 1)
        marks = [(number, _cut_at(lines[number - 1], _ranges(number, [place]))) for number in around]
        view |= {
            "line": place.line,
            "anchor": f"{anchor}-{place.line}",
            "note": cause_note(finding.evidence.get("cause") or {}),
            "excerpt": marks,
        }
    return view


def _pair(template: TemplateReport, finding: Finding) -> dict[str, Any] | None:
    """The two renders of a conversation that parts for this finding's cause, where they were kept."""
    kind = _APPENDED.get(finding.rule)
    cause = [finding.place.line, finding.place.column] if finding.place is not None else None
    for pair in (template.display or {}).get("pairs", []):
        if pair["appended"] == kind and pair["cause"] == cause:
            at = pair["offset"]
            same = pair["earlier"][max(0, at - _SAME) : at]
            return {
                "scenario": visible(pair["scenario"]),
                "offset": at,
                "same": ("…" if at > _SAME else "") + _lines(same),
                "gone": _lines(_head(pair["earlier"][at:])),
                "came": _lines(_head(pair["later"][at:])),
            }
    return None


def _head(text: str) -> str:
    return text if len(text) <= _DIFFERENT else text[:_DIFFERENT] + "…"


def _lines(text: str) -> str:
    return visible(text, keep="\n").replace("\n", "⏎\n")


def _strip(strip: dict[str, Any]) -> dict[str, Any]:
    parts = [
        {
            "text": visible(part["text"], keep="\n").replace("\n", "⏎"),
            "breaks": "\n" in part["text"],
            "owner": part["owner"],
            "mask": part["mask"],
            "id": part["id"],
        }
        for part in strip["parts"]
        if part["text"]
    ]
    unit = f"{len(strip['parts'])} tokens" if strip["tokens"] else "text; no tokenizer was given"
    heading = f"Who wrote what: {visible(strip['title'])} ({unit})"
    return {"heading": heading, "parts": parts, "marked": strip["marked"], "cut": strip["cut"]}


def _marked_lines(lines: list[str], findings: list[Finding]) -> list[dict[str, Any]]:
    places: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.place is not None:
            for number in range(finding.place.line, min(finding.place.end_line, len(lines)) + 1):
                places.setdefault(number, []).append(finding)
    views = []
    for number, line in enumerate(lines, 1):
        here = places.get(number, [])
        worst = _worst(here)
        state = worst.value if worst in (Severity.ERROR, Severity.WARNING) else ""
        ranges = _ranges(number, [finding.place for finding in here if finding.place is not None])
        views.append({"state": state, "parts": _cut_at(line, ranges)})
    return views


def _ranges(number: int, places: list[Place]) -> list[tuple[int, int | None]]:
    """0-based [start, end) on line ``number`` of each place; end None is the end of the line."""
    return [
        (
            place.column - 1 if place.line == number else 0,
            place.end_column - 1 if place.end_line == number else None,
        )
        for place in places
        if place.line <= number <= place.end_line
    ]


def _cut_at(line: str, ranges: list[tuple[int, int | None]]) -> list[tuple[str, bool]]:
    """The line in pieces, and whether a finding marks each."""
    marked = [False] * len(line)
    for start, end in ranges:
        for column in range(max(start, 0), min(len(line) if end is None else end, len(line))):
            marked[column] = True
    return list(_runs(line, marked))


def _runs(line: str, marked: list[bool]) -> Iterator[tuple[str, bool]]:
    start = 0
    for column in range(1, len(line) + 1):
        if column == len(line) or marked[column] != marked[start]:
            yield visible(line[start:column].replace("\t", "    ")), marked[start]
            start = column
