"""What happens to findings after they are found: severities, ignores, the baseline, duplicates, what is shown.

Nothing is dropped: what is hidden stays in the report and says what hides it.
"""

# No postponed annotations: NamedTuple would compile each of them at start-up.
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from template_lint.config import REQUIREMENTS, Options, TargetSpec
from template_lint.curation.duplicates import mark_duplicates
from template_lint.errors import UsageError
from template_lint.model import BaselineUse, Finding, Report, Severity, TargetReport, finding_order

HIDDEN = "min-severity"
WHOLE_TARGETS = "TL6"
"""The family whose rules are about whole targets: no template lists them as checked."""


class Asked(NamedTuple):
    """What was asked of a run: its options, the codes of its rules (none for all), and what is known of each target.

    ``specs`` has one entry for each target of the report: all that apply to it, the most general first.
    ``whole`` are the specs of which every part was checked. ``parts`` has, for each target, what is known of single
    files in it, by their path there; it is empty where nothing is known of any target.
    """

    options: Options
    chosen: Sequence[str] = ()
    specs: Sequence[Sequence[TargetSpec]] = ()
    whole: Sequence[TargetSpec] = ()
    parts: Sequence[Mapping[str, Sequence[TargetSpec]]] = ()

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the rules that were asked."""
        from template_lint.rules.registry import rule_names

        return frozenset(self.chosen or rule_names())

    def requirements(self, index: int) -> frozenset[str]:
        """What is required of one target."""
        return self.options.require.union(*(spec.require for spec in self.specs[index]))


def curate(report: Report, asked: Asked) -> Report:
    """The report with every finding at its severity, and marked where something hides it.

    Raises UsageError for a baseline that is missing or malformed.
    """
    report = _with_inline_ignores(report, asked)
    if any(asked.specs) or any(asked.parts):
        from template_lint.curation.configured import apply_ignores

        report = apply_ignores(report, asked)
    report = _with_severities(report, asked)
    if asked.options.baseline is not None:
        from template_lint.curation.baseline import read_baseline

        baseline = read_baseline(asked.options.baseline)
        report, stale = baseline.apply(report, asked.codes)
        report = report._replace(baseline=BaselineUse(asked.options.baseline.as_posix(), stale))
    return hide_mild(mark_duplicates(report), asked.options.min_severity)


def hide_mild(report: Report, threshold: Severity) -> Report:
    """Mark what is below the threshold and not hidden otherwise."""
    if threshold is Severity.INFO:
        return report

    def mild(finding: Finding) -> Finding:
        if finding.suppressed is None and finding.severity.rank < threshold.rank:
            return finding._replace(suppressed=HIDDEN, suppression_reason=f"below {threshold.value}")
        return finding

    return report._replace(targets=[with_findings(target, mild) for target in report.targets])


def with_findings(target: TargetReport, change: Callable[[Finding], Finding]) -> TargetReport:
    """A target report whose findings, and those of its templates, went through ``change``."""
    return target._replace(
        findings=[change(finding) for finding in target.findings],
        templates=[
            template._replace(findings=[change(finding) for finding in template.findings])
            for template in target.templates
        ],
    )


def _with_inline_ignores(report: Report, asked: Asked) -> Report:
    if not any(template.directives for target in report.targets for template in target.templates):
        return report
    from template_lint.curation.inline import apply_directives

    wanted, codes = asked.options.inline_ignores, asked.codes
    targets = []
    passed_over = 0
    for target in report.targets:
        own = target.repo is None and target.kind in ("file", "directory", "stdin")
        if own if wanted is None else wanted:
            templates = [apply_directives(template, codes) for template in target.templates]
            target = target._replace(templates=templates)
        elif wanted is None:
            passed_over += sum(len(template.directives) for template in target.templates)
        targets.append(target)
    return report._replace(targets=targets, not_honoured=passed_over)


def _with_severities(report: Report, asked: Asked) -> Report:
    overrides = severities(asked.options.severity)
    required = [asked.requirements(index) for index in range(len(report.targets))]
    if not overrides and not any(required):
        return report
    targets = []
    for target, needs in zip(report.targets, required, strict=True):
        chosen = {**overrides, **{REQUIREMENTS[need]: Severity.ERROR for need in needs}}

        def rated(finding: Finding, chosen: Mapping[str, Severity] = chosen) -> Finding:
            return finding._replace(severity=chosen.get(finding.rule, finding.severity))

        changed = with_findings(target, rated)
        templates = [t._replace(findings=sorted(t.findings, key=finding_order)) for t in changed.templates]
        targets.append(changed._replace(templates=templates))
    return report._replace(targets=targets)


def severities(words: Mapping[str, Severity]) -> dict[str, Severity]:
    """Code -> severity, from codes, prefixes and names; the longest prefix wins. Raises UsageError."""
    if not words:
        return {}
    from template_lint.rules.registry import codes_of, rule_names

    found: dict[str, tuple[int, Severity]] = {}
    for word, severity in words.items():
        is_prefix = word.upper().startswith("TL") and word.upper() not in rule_names()
        exact = len(word) if is_prefix else 5
        for code in codes_of([word]):
            if code not in found or found[code][0] <= exact:
                found[code] = exact, severity
    return {code: severity for code, (_, severity) in found.items()}


def asked_codes(options: Options) -> tuple[str, ...]:
    """The codes of the rules to ask, sorted; empty for all. Raises UsageError for words that fit no rule."""
    required = options.require.union(*(spec.require for spec in options.targets))
    unknown = sorted(required - set(REQUIREMENTS))
    if unknown:
        raise UsageError(f"nothing can require {unknown[0]!r}. Choose from: {', '.join(sorted(REQUIREMENTS))}.")
    narrowed = (options.select, options.ignore, options.extend_select, options.extend_ignore)
    if not any(narrowed):
        return ()
    from template_lint.rules.registry import codes_of, select

    chosen = select(
        options.select, options.ignore, extend_select=options.extend_select, extend_ignore=options.extend_ignore
    )
    ignored = codes_of([*options.ignore, *options.extend_ignore])
    needed = {REQUIREMENTS[need]: need for need in required}
    for code, need in sorted(needed.items()):
        if code in ignored:
            raise UsageError(f"{need} is required, and {code}, the rule that looks for it, is ignored. Drop one.")
    return tuple(sorted({*chosen, *needed}))
