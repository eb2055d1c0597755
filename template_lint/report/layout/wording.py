"""The words that formats for people share: verdicts, what a cause did, what was seen where, what was not checked."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from template_lint.model import Finding, Report, TargetReport, TemplateReport, Verdict
from template_lint.report.layout.escape import visible

_SCENARIOS_SHOWN = 3
_VERDICT = {
    "stable": "keeps the prefix in tool loops",
    "stable-with-kwargs": "keeps the prefix in tool loops with {kwargs}",
    "breaks-on-user": "keeps the prefix within a tool loop, a later user or system turn rewrites history",
    "unstable": "breaks the prefix in tool loops",
    "no-tools": "no tool support",
    "unrenderable": "renders {nothing}",
}


def live(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that nobody suppressed, worst first."""
    return sorted((f for f in findings if f.suppressed is None), key=lambda f: -f.severity.rank)


def verdict_words(verdict: Verdict) -> str:
    """Return what the verdict on a template means, in words."""
    kwargs = ", ".join(f"{key}={outcome(value)}" for key, value in sorted(verdict.kwargs.items()))
    words = _VERDICT.get(verdict.tito, verdict.tito).replace("{nothing}", nothing_of(verdict))
    return visible(words.replace("{kwargs}", kwargs))


def nothing_of(verdict: Verdict) -> str:
    """Return what an unrenderable template renders none of."""
    return "no tool conversation" if renders_without_tools(verdict) else "no conversation"


def renders_without_tools(verdict: Verdict) -> bool:
    """Return whether an unrenderable template renders conversations that have no tools in them."""
    return any(word != "unrenderable" for word in verdict.appended.values())


def cause_note(cause: dict[str, Any]) -> str:
    """Say what the cause did in the two renders, and whether that is proven by counterfactual."""
    if not cause:
        return ""
    kind = cause.get("kind")
    if kind == "suspected" or not cause.get("proven"):
        certainty = "suspected, not proven"
    else:
        certainty = "proven together with others" if kind in ("combination", "pair") else "proven"
    earlier, later = cause.get("outcome_earlier"), cause.get("outcome_later")
    if earlier is None and later is None:
        return certainty
    printed = cause.get("printed", kind == "output")
    if printed and earlier and later:
        return f"outcome: printed -> printed behind what is appended ({certainty})"
    shown = _printed if printed else outcome
    return f"outcome: {shown(earlier)} -> {shown(later)} ({certainty})"


def _printed(value: object) -> str:
    return "printed" if value else "not printed"


def outcome(value: object) -> str:
    """Return the outcome of a condition as Jinja writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "not reached" if value is None else visible(str(value))


def scenario_names(finding: Finding) -> str:
    """Return the first few conversations that show a finding, and how many more there are; ``""`` for none."""
    names = finding.evidence.get("scenarios") or ([finding.scenario] if finding.scenario else [])
    more = len(names) - _SCENARIOS_SHOWN
    text = ", ".join(visible(str(name)) for name in names[:_SCENARIOS_SHOWN])
    return f"{text}, +{more} more" if more > 0 else text


class NotAsked(NamedTuple):
    """Rules that could not be asked for one reason, and in how many templates."""

    rules: list[str]
    reason: str
    templates: int


def not_asked(templates: Iterable[TemplateReport]) -> list[NotAsked]:
    """Group the rules that could not be asked by reason, in the order in which the reasons first appear."""
    rules: dict[str, dict[str, None]] = {}
    number: Counter[str] = Counter()
    for template in templates:
        for reason in {skipped.reason: None for skipped in template.skipped}:
            number[reason] += 1
        for skipped in template.skipped:
            rules.setdefault(skipped.reason, {})[skipped.rule] = None
    return [NotAsked(sorted(codes), reason, number[reason]) for reason, codes in rules.items()]


def nothing_checked(report: Report) -> bool:
    """Say whether there was nothing to check at all, which is no success."""
    return not report.targets and not report.excluded


class Unchecked(NamedTuple):
    """A target, or one template of it, that could not be looked at; ``kind`` is the stable word of the JSON output."""

    target: TargetReport
    template: TemplateReport | None
    kind: str
    message: str


def unchecked(report: Report) -> Iterator[Unchecked]:
    """Yield what keeps a run from being complete: targets with an error, templates that render nothing."""
    for target in report.targets:
        if target.error is not None:
            yield Unchecked(target, None, target.error.kind, target.error.message)
        for template in target.templates:
            if template.unrendered:
                message = f"the template renders {nothing_of(template.verdict)} of ours"
                yield Unchecked(target, template, "unrenderable", message)
