"""Ignores inside a template: ``{# template-lint: ignore[TL101] reason #}`` and ``ignore-file[...]``.

An ``ignore`` holds for findings of its rules that begin in what comes next (a tag from its first to its last line, or
a line of text), and for those that have no place. An ``ignore-file`` holds for the whole template. Both need a line of
their own, codes or names of rules, and a reason. What is written otherwise is TL901, and hides nothing.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from template_lint.model import Directive, Finding, Place, TemplateReport, finding_order
from template_lint.rules.registry import nearest_rule, rule_names
from template_lint.rules.tl9_housekeeping.tl901_unused_ignore import UnusedIgnore

_IGNORE = re.compile(
    r"\s*template-lint:\s*(?P<form>ignore|ignore-file)\s*\[(?P<rules>[^\]]*)\](?P<reason>.*)", re.DOTALL
)
_WORD = re.compile(r"[^\s,]+")
_RIGHT = "Write {# template-lint: ignore[TL101] reason #} on a line of its own."


class _Ignored(NamedTuple):
    """One rule that a directive names, and the range of its name in the source."""

    code: str
    directive: Directive
    whole: bool
    reason: str
    start: int
    end: int

    def covers(self, finding: Finding) -> bool:
        if finding.rule != self.code:
            return False
        if self.whole or finding.place is None:
            return True
        return self.directive.first_line <= finding.place.line <= self.directive.last_line


class _Problem(NamedTuple):
    message: str
    remedy: str
    start: int
    end: int


def apply_directives(template: TemplateReport, codes: frozenset[str]) -> TemplateReport:
    """Hide what the directives of a template name; add TL901 for those that hide nothing or are malformed.

    ``codes`` are those of the rules that were asked in this run. An ignore of a rule that was not asked, or could not
    be, may be needed another time and is not reported.
    """
    ignores: list[_Ignored] = []
    problems: list[_Problem] = []
    for directive in template.directives:
        _read(directive, ignores, problems)
    used: set[int] = set()
    findings = []
    for finding in template.findings:
        matching = [index for index, ignore in enumerate(ignores) if ignore.covers(finding)]
        used.update(matching)
        if matching and finding.suppressed is None:
            reason = ignores[matching[0]].reason
            finding = finding._replace(suppressed="inline", suppression_reason=reason)
        findings.append(finding)
    if UnusedIgnore.code not in codes:
        return template._replace(findings=findings)
    checked = set(template.checked)
    for index, ignore in enumerate(ignores):
        if index not in used and ignore.code in checked:
            problems.append(_unused(ignore))
    rule, text = UnusedIgnore(), _Source(template.source)
    for problem in problems:
        place = text.place(problem.start, problem.end)
        findings.append(rule.finding(None, problem.message, remedy=problem.remedy, place=place, file=template.file))
    return template._replace(
        findings=sorted(findings, key=finding_order), checked=sorted({*template.checked, UnusedIgnore.code})
    )


def _read(directive: Directive, ignores: list[_Ignored], problems: list[_Problem]) -> None:
    """Add what a directive says to ``ignores``, and what is wrong with it to ``problems``."""

    def wrong(message: str, start: int = directive.place.offset, end: int = directive.place.end_offset) -> None:
        problems.append(_Problem(message, _RIGHT, start, end))

    match = _IGNORE.fullmatch(directive.text.rstrip("-+"))
    if match is None:
        shown = " ".join(directive.text.split())
        wrong(f"not a directive: {shown[:60]!r}; nothing is ignored")
        return
    form, reason = match["form"], " ".join(match["reason"].split())
    words = list(_WORD.finditer(match["rules"]))
    if not words:
        wrong(f"{form} names no rule; nothing is ignored")
    elif not reason.strip(":-,. "):
        wrong(f"{form}[{', '.join(word[0] for word in words)}] gives no reason; nothing is ignored")
    elif not directive.alone:
        wrong(f"{form}[{', '.join(word[0] for word in words)}] shares its line with something else; nothing is ignored")
    else:
        names = rule_names()
        by_name = {name: code for code, name in names.items()}
        for word in words:
            start = directive.offset + match.start("rules") + word.start()
            end = start + len(word[0])
            code = by_name.get(word[0].lower(), word[0].upper())
            if code not in names:
                wrong(f"there is no rule {word[0]!r}.{nearest_rule(word[0])}", start, end)
            elif code == UnusedIgnore.code:
                wrong(f"{code} cannot be ignored in a template; remove the ignore it is about", start, end)
            else:
                whole = form == "ignore-file"
                ignores.append(_Ignored(code, directive, whole, reason, start, end))


def _unused(ignore: _Ignored) -> _Problem:
    first, last = ignore.directive.first_line, ignore.directive.last_line
    where = "in this template"
    if not ignore.whole:
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        where = f"on {lines}, or without a place" if first else "after it"
    return _Problem(
        f"the ignore of {ignore.code} hides nothing: there is no such finding {where}",
        "Remove it.",
        ignore.start,
        ignore.end,
    )


class _Source:
    """Offsets of a source, as Jinja counts them, to places."""

    def __init__(self, source: str) -> None:
        self._text = source.replace("\r\n", "\n").replace("\r", "\n")

    def place(self, start: int, end: int) -> Place:
        (line, column), (end_line, end_column) = self._at(start), self._at(end)
        return Place(line, column, end_line, end_column, start, end)

    def _at(self, offset: int) -> tuple[int, int]:
        return self._text.count("\n", 0, offset) + 1, offset - (self._text.rfind("\n", 0, offset) + 1) + 1
