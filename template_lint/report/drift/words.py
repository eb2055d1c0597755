"""What the text and the Markdown report say alike: grades, verdict lines, what a run relies on."""

from __future__ import annotations

from collections import Counter

from template_lint.lock.drift.model import Aspect, Drift, DriftReport, Grade, TemplateDrift, TokenizerChange
from template_lint.report.layout.escape import visible

GRADES = {
    Grade.SAME: "no drift",
    Grade.REVISION: "grade 0 of 3, revision moved",
    Grade.FILES: "grade 1 of 3, files changed",
    Grade.PROMPTS: "grade 2 of 3, prompts differ",
    Grade.VERDICT: "grade 3 of 3, verdict regressed",
}
LABELS = {
    Grade.SAME: ("ok   ", "bold green"),
    Grade.REVISION: ("info ", "bold blue"),
    Grade.FILES: ("WARN ", "bold yellow"),
    Grade.PROMPTS: ("FAIL ", "bold red"),
    Grade.VERDICT: ("FAIL ", "bold red"),
}
MOST_NAMES = 6


def headline(drift: Drift) -> str:
    """Grade, rule and sentence: the one line that a reader must see."""
    if drift.error is not None:
        return visible(f"{drift.target}: {drift.sentence}")
    rules = ", ".join(finding.rule for finding in drift.findings)
    grade = GRADES[drift.grade] + (f" ({rules})" if rules else "")
    return visible(f"{drift.target}  {grade}: {drift.sentence}")


def summary(report: DriftReport) -> str:
    """The last line: how many comparisons ended with which grade."""
    total = len(report.drifts)
    grades = Counter(drift.grade for drift in report.drifts if drift.error is None)
    parts = [
        f"{grades[grade]} without drift"
        if grade is Grade.SAME
        else f"{grades[grade]} at grade {grade.number} ({GRADES[grade].partition(', ')[2]})"
        for grade in Grade
        if grades[grade]
    ]
    failed = sum(drift.error is not None for drift in report.drifts)
    partly = sum(bool(drift.unchecked) for drift in report.drifts)
    parts += [f"{failed} not compared"] * bool(failed) + [f"{partly} only in part"] * bool(partly)
    profiles = sorted({side.profile for drift in report.drifts for side in (drift.before, drift.after)})
    noun = "comparison" if total == 1 else "comparisons"
    return f"{total} {noun}: {', '.join(parts) or 'none'}" + (
        f" (transformers {' and '.join(profiles)})" if profiles else ""
    )


def names(found: list[str]) -> str:
    """The first conversations of a list, and how many more there are."""
    more = len(found) - MOST_NAMES
    return visible(", ".join(found[:MOST_NAMES])) + (f", +{more} more" if more > 0 else "")


def title(template: TemplateDrift, drift: Drift) -> str:
    """The name of a template where there are several, with a colon; else nothing."""
    return f"{visible(template.name)}: " if len(drift.templates) > 1 else ""


def split_aspects(template: TemplateDrift) -> tuple[list[Aspect], list[Aspect]]:
    """The aspects that changed, and those that did not."""
    changed = [aspect for aspect in template.aspects if aspect.status != "same"]
    return changed, [aspect for aspect in template.aspects if aspect.status == "same"]


def examples(change: TokenizerChange) -> str:
    """The entries a change of the tokenizer concerns, with their ids."""
    parts = []
    for example in change.examples:
        if "token" not in example:
            return ""
        before, after = example.get("before"), example.get("after")
        ids = f"{before} -> {after}" if None not in (before, after) and before != after else after
        shown = ids if ids is not None else f"was {before}"
        parts.append(f"'{visible(example['token'], backslash=True)}' ({shown})")
    more = change.number - len(change.examples)
    return ", ".join(parts) + (f", +{more:,} more" if more > 0 and parts else "")
