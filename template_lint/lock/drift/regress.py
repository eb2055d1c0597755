"""Two reports of one template: which findings are new or fixed, and which property that held no longer does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from template_lint.model import Finding, Severity, TemplateReport

_Key = tuple[str, str] | None
_ORDER = ("stable", "stable-with-kwargs", "breaks-on-user", "unstable", "unrenderable")
_WORDS = {
    "tools": "tool schemas are in the prompt",
    "tool_calls": "tool calls are in the prompt",
    "tool_results": "tool results are in the prompt",
    "parallel_tool_calls": "parallel calls are rendered",
    "system": "a system message is in the prompt",
    "developer": "a developer message is in the prompt",
    "reasoning": "reasoning is in the prompt",
    "generation_markers": "{% generation %} marks what the model writes",
}


def lint_delta(before: TemplateReport, after: TemplateReport) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings that only the later report has, and those that only the earlier one has.

    Findings are the same where the rule and the blamed source text, or else the rule and the message without its
    numbers, are the same: lines move. Counted, so that a second finding like the first is new.
    """
    fixed, new = _live(before), _live(after)
    for one_key, other_key in (
        (lambda finding: _blamed(finding, before), lambda finding: _blamed(finding, after)),
        (_message, _message),
    ):
        one, other = [one_key(finding) for finding in fixed], [other_key(finding) for finding in new]
        fixed, new = list(_beyond(fixed, one, other)), list(_beyond(new, other, one))
    return tuple(new), tuple(fixed)


def _live(report: TemplateReport) -> list[Finding]:
    return [finding for finding in report.findings if finding.suppressed is None]


def _blamed(finding: Finding, report: TemplateReport) -> tuple[str, str] | None:
    if finding.place is None:
        return None
    return finding.rule, " ".join(report.source[finding.place.offset : finding.place.end_offset].split())


def _message(finding: Finding) -> tuple[str, str]:
    return finding.rule, re.sub(r"\d+", "#", finding.message)


def _beyond(findings: list[Finding], keys: Sequence[_Key], known: Sequence[_Key]) -> Iterator[Finding]:
    left = Counter(known)
    for finding, key in zip(findings, keys, strict=True):
        if key is not None and left[key]:
            left[key] -= 1
        else:
            yield finding


def losses(before: TemplateReport, after: TemplateReport) -> Iterator[str]:
    """Every property that held and no longer does, in a sentence each, the gravest first."""
    one, other = before.verdict, after.verdict
    broken = [
        f"appending a {'tool result' if kind == 'tool' else f'{kind} message'} no longer keeps the prefix"
        for kind in one.appended
        if one.appended[kind] == "stable" and other.appended.get(kind) != "stable"
    ]
    if _worse(one.tito, other.tito):
        why = f": {broken.pop(0)}" if broken else ""
        yield f"the verdict was {one.tito} and is {other.tito}{why}"
    yield from broken
    for name, sentence in _WORDS.items():
        if before.capabilities.get(name) and not after.capabilities.get(name):
            yield f"no longer so: {sentence}"
    was, now = _errors(before), _errors(after)
    for rule in sorted(now):
        # A rule that could not be asked before says nothing about what held then.
        if now[rule] > was[rule] and rule in before.checked:
            finding = next(found for found in _live(after) if found.rule == rule)
            yield f"{rule} {finding.name} is found"


def gains(before: TemplateReport, after: TemplateReport) -> Iterator[str]:
    """Whether the verdict became better, in a sentence."""
    if _worse(after.verdict.tito, before.verdict.tito):
        yield f"the verdict was {before.verdict.tito} and is now {after.verdict.tito}"


def _worse(one: str, other: str) -> bool:
    """Whether a verdict is worse than another; a template that stops (or begins) to know tools is compared by its
    capabilities.
    """
    if one == other or one not in _ORDER:
        return other == "unrenderable" and one != other
    return other not in _ORDER or _ORDER.index(other) > _ORDER.index(one)


def _errors(report: TemplateReport) -> Counter[str]:
    return Counter(finding.rule for finding in _live(report) if finding.severity is Severity.ERROR)
