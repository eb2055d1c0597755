"""Ignores of the configuration: rules whose findings are expected in a target, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from template_lint.config import Ignore, TargetSpec
from template_lint.curation import WHOLE_TARGETS, Asked, with_findings
from template_lint.model import Finding, Report, TargetReport
from template_lint.rules.registry import codes_of
from template_lint.rules.tl9_housekeeping.tl901_unused_ignore import UnusedIgnore


def apply_ignores(report: Report, asked: Asked) -> Report:
    """Hide what the configuration ignores in each target; add TL901 to the first target of a spec for an ignore that
    hides nothing, although its rule was asked and every part of the spec was checked.
    """
    chosen = asked.codes
    every = [*(spec for specs in asked.specs for spec in specs), *_of_parts(asked)]
    codes = {ignore: codes_of(ignore.rules) for spec in every for ignore in spec.ignore}
    used: set[Ignore] = set()

    def hide(finding: Finding, specs: Sequence[TargetSpec]) -> Finding:
        matching = [ignore for spec in specs for ignore in spec.ignore if finding.rule in codes[ignore]]
        used.update(matching)
        if matching and finding.suppressed is None:
            return finding._replace(suppressed="config", suppression_reason=matching[0].reason)
        return finding

    targets = []
    for index, (target, specs) in enumerate(zip(report.targets, asked.specs, strict=True)):
        changed = with_findings(target, partial(hide, specs=specs)) if specs else target
        parts = asked.parts[index] if asked.parts else {}
        if parts:
            templates = [
                template._replace(
                    findings=[hide(finding, parts.get(template.file or "", ())) for finding in template.findings]
                )
                for template in changed.templates
            ]
            changed = changed._replace(templates=templates)
        targets.append(changed)
    if UnusedIgnore.code in chosen:
        for spec in asked.whole:
            mine = [index for index, specs in enumerate(asked.specs) if spec in specs]
            if not mine or any(targets[index].error is not None for index in mine):
                continue
            checked = {code for code in chosen if code.startswith(WHOLE_TARGETS)}
            checked = checked.union(*(_checked(targets[index]) for index in mine))
            first = targets[mine[0]]
            asked_of = {ignore: codes[ignore] & chosen for ignore in spec.ignore if ignore not in used}
            added = [_unused(ignore, spec.target) for ignore, rules in asked_of.items() if rules and rules <= checked]
            targets[mine[0]] = first._replace(findings=[*first.findings, *added])
    return report._replace(targets=targets)


def _of_parts(asked: Asked) -> Iterator[TargetSpec]:
    return (spec for parts in asked.parts for specs in parts.values() for spec in specs)


def _checked(target: TargetReport) -> set[str]:
    return {code for template in target.templates for code in template.checked}


def _unused(ignore: Ignore, target: str) -> Finding:
    place = f" ({ignore.anchor.file}:{ignore.anchor.line})" if ignore.anchor else ""
    return UnusedIgnore().finding(
        None,
        f"the configuration ignores {', '.join(ignore.rules)} in {target}{place}, and there is no such finding",
        remedy="Remove the ignore.",
        file=ignore.anchor.file if ignore.anchor else None,
        evidence={"line": ignore.anchor.line if ignore.anchor else None},
    )
