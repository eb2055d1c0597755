"""What a worker does with one template: facts, then every selected rule, then the report. Pure but for the clock of
limits.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from template_lint.facts import TemplateFacts
from template_lint.facts.capabilities import capabilities_of
from template_lint.facts.fingerprint import prompt_fingerprint
from template_lint.facts.verdict import verdict_of
from template_lint.model import Finding, Skipped, TemplateReport, Verdict, finding_order
from template_lint.patches.lookup import patch_by_digest, patch_by_model, patch_by_source
from template_lint.rendering import limits
from template_lint.rules.base import Skip
from template_lint.rules.registry import Entry, template_entries

if TYPE_CHECKING:
    from template_lint.job import Job

_UNRENDERABLE = Verdict(tito="unrenderable")


def prepare_worker() -> None:
    """Make a fresh worker ready: bounds armed, everything alive now exempt from garbage collection.

    A rule is imported when it is first asked: many templates know no tools, and half of the rules are about tools.
    """
    import template_lint.job  # what a job unpickles to
    import template_lint.rendering.profiles
    import template_lint.snapshot.model  # noqa: F401

    limits.arm_process()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


def inspect_template(job: Job) -> TemplateReport:
    """Check one template. A rule that raises anything but Skip is a defect and is not caught here."""
    try:
        return inspect_facts(job, facts_of(job))
    except MemoryError:
        return exhausted_report(job)


def exhausted_report(job: Job) -> TemplateReport:
    """The report for a template of which no single render reached the bound of memory, but what is kept of them all."""
    reason = f"memory limit of {limits.MEMORY_BYTES >> 20} MiB for all renders of one template"
    return stopped_report(job, reason, what="checking was stopped")


def is_healthy(facts: TemplateFacts) -> bool:
    """Whether there is a template, and it compiles."""
    return facts.selection_error is None and facts.compile_error is None


def inspect_facts(job: Job, facts: TemplateFacts) -> TemplateReport:
    """Check one template whose facts the caller keeps. Raises MemoryError as any render may."""
    healthy = is_healthy(facts)
    # Before the rules: TL508 reports what was stopped in any render.
    verdict = _with_patch(verdict_of(facts), facts) if healthy else _UNRENDERABLE
    fingerprint = prompt_fingerprint(facts) if healthy else ""
    capabilities = capabilities_of(facts) if healthy else {}
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    checked: list[str] = []
    for entry in _selected(job):
        reason = _unmet(entry.needs, facts)
        if reason is None:
            try:
                findings.extend(entry.rule().check(facts))
                checked.append(entry.code)
                continue
            except Skip as skip:
                reason = str(skip)
        skipped.append(Skipped(rule=entry.code, reason=reason))
    findings.sort(key=finding_order)
    return TemplateReport(
        name=job.copy.name,
        file=job.copy.file or None,
        sha256=_digest(job.copy.source),
        source=job.copy.source,
        verdict=verdict,
        prompt_fingerprint=fingerprint,
        capabilities=capabilities,
        findings=findings,
        skipped=skipped,
        checked=checked,
        pointer=job.copy.pointer,
        directives=facts.directives,
        display=_display(facts) if job.display and healthy else None,
    )


def _display(facts: TemplateFacts) -> dict[str, Any]:
    from template_lint.facts.display import display_of

    return display_of(facts)


def _with_patch(verdict: Verdict, facts: TemplateFacts) -> Verdict:
    """Add the training template: by bytes always; by normalised source where the verdict calls for one.

    And name the one that was made for this Hub model, where its template has become right by itself.
    """
    name = patch_by_digest(_digest(facts.source))
    if name is None and verdict.tito in ("unstable", "breaks-on-user"):
        name = patch_by_source(facts.source)
    made_for = patch_by_model(facts.snapshot.repo) if facts.snapshot is not None and facts.snapshot.repo else None
    if name is None and made_for is not None:
        from template_lint.patches.training import obsolete

        return verdict._replace(obsolete_patch=obsolete(facts))
    return verdict._replace(patch=name)


def facts_of(job: Job) -> TemplateFacts:
    """The facts of a job's template."""
    tokenizer = job.tokenizer
    load = None
    if tokenizer is not None:
        from template_lint.tokenization import load_tokenization

        snapshot, version = tokenizer, job.profile.version

        def load():  # type: ignore[no-untyped-def]
            return load_tokenization(snapshot, profile_version=version)

    return TemplateFacts(
        job.copy.source,
        job.profile,
        name=job.copy.name,
        file=job.copy.file or None,
        variables=job.variables,
        conversations=job.conversations,
        tokenization=load,
        force_tools=job.force_tools,
        frugal=True,
        compare_engines=job.compare_engines,
        snapshot=job.snapshot,
        selection_error=job.selection_error,
    )


def stopped_report(job: Job, reason: str, *, what: str = "rendering took its process down") -> TemplateReport:
    """The report for a template that took its worker down: TL508, and every other rule not checked."""
    selected = {entry.code: entry for entry in _selected(job)}
    blow_up = selected.pop("TL508", None)
    findings = []
    if blow_up is not None:
        message = f"{what}: {reason}"
        remedy = "Do not use this template."
        findings.append(blow_up.rule().finding(facts_of(job), message, remedy=remedy, evidence={"reason": reason}))
    return TemplateReport(
        name=job.copy.name,
        file=job.copy.file or None,
        sha256=_digest(job.copy.source),
        source=job.copy.source,
        verdict=_UNRENDERABLE,
        prompt_fingerprint="",
        capabilities={},
        findings=findings,
        skipped=[Skipped(rule=code, reason=f"rendering was stopped: {reason}") for code in selected],
        pointer=job.copy.pointer,
    )


def _selected(job: Job) -> list[Entry]:
    return [entry for entry in template_entries() if not job.codes or entry.code in job.codes]


def _unmet(needs: Sequence[str], facts: TemplateFacts) -> str | None:
    """Why a rule cannot be asked, or None. The first unmet need counts."""
    if "template" in needs and facts.selection_error is not None:
        return "there is no template (TL001)"
    if "syntax" in needs and facts.compile_error is not None:
        stopped = facts.compile_error.error == "RenderStopped"
        return "compiling had to be stopped (TL508)" if stopped else "the template does not compile (TL002)"
    if "syntax" in needs and not facts.source.strip():
        return "the template is empty (TL001)"
    if "tools" in needs and not facts.tool_rules_apply:
        return "the template knows no tools (TL200)"
    if "generation" in needs and not facts.static.has_generation_tag:
        return "no {% generation %} in the template (TL401)"
    if "tokenizer" in needs and facts.tokenization is None:
        return facts.no_tokenizer
    if "snapshot" in needs and (facts.snapshot is None or len(facts.snapshot.copies) < 2):
        return "there is only one copy of the template"
    return None


def _digest(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
