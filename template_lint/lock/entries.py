"""Observation -> LockEntry: what is written down of a target that was looked at."""

from __future__ import annotations

import hashlib

from template_lint.lock.model import LockedPatch, LockedTemplate, LockEntry, Observation
from template_lint.model import TemplateReport


def entry_of(observation: Observation, *, path: str | None = None) -> LockEntry:
    """The pin of an observed target; ``path`` is that of a local one from the lock. It must have a snapshot."""
    report = observation.report
    assert observation.snapshot is not None
    files = {name: f"sha256:{digest}" for name, digest in sorted(observation.snapshot.files.items())}
    path = None if report.repo is not None else path or report.target
    if path is not None and report.kind == "file":
        files = dict.fromkeys([path], next(iter(files.values())))
    return LockEntry(
        repo=report.repo,
        revision=report.revision,
        requested=observation.requested if report.repo is not None else None,
        files=files,
        templates=tuple(_template(template, observation) for template in report.templates if template.source),
        path=path,
    )


def _template(template: TemplateReport, observation: Observation) -> LockedTemplate:
    prompts = observation.prompts.get(template.name)
    return LockedTemplate(
        name=template.name,
        sha256=f"sha256:{template.sha256}",
        prompts=f"sha256:{prompts.fingerprint}" if prompts else "",
        ids=f"sha256:{prompts.ids}" if prompts and prompts.ids else None,
        verdict=template.verdict.tito,
        kwargs=template.verdict.kwargs,
        patch=_patch(template),
        scenarios=prompts.scenarios if prompts else {},
    )


def _patch(template: TemplateReport) -> LockedPatch | None:
    name = template.verdict.patch
    if name is None:
        return None
    from template_lint.patches.index import read_source

    digest = hashlib.sha256(read_source(name).encode()).hexdigest()
    return LockedPatch(name=name, original=f"sha256:{template.sha256}", sha256=f"sha256:{digest}")
