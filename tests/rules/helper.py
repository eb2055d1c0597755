"""One rule on one template, in this process: what the tests of single rules are written with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from template_lint.inspection import inspect_template
from template_lint.job import Job
from template_lint.model import Finding, TemplateReport
from template_lint.rendering.profiles import resolve_profile
from template_lint.scenarios.model import Scenario
from template_lint.snapshot.model import Snapshot, TemplateCopy
from template_lint.target import Target, TargetKind

FILE = "chat_template.jinja"


def check_rule(code: str, source: str, **options: Any) -> list[Finding]:
    """The findings of one rule on a template. Fails where the rule could not be asked; see ``inspect`` for options."""
    report = inspect(source, codes=(code,), **options)
    assert not report.skipped, f"{code} was skipped: {report.skipped[0].reason}"
    return report.findings


def skip_reason(code: str, source: str, **options: Any) -> str | None:
    """Why one rule could not be asked of a template, or None where it was."""
    skipped = inspect(source, codes=(code,), **options).skipped
    return skipped[0].reason if skipped else None


def inspect(
    source: str,
    *,
    codes: tuple[str, ...] = (),
    transformers: str = "5.24",
    variables: Mapping[str, Any] | None = None,
    conversations: list[Scenario] | None = None,
    force_tools: bool = False,
    config: Mapping[str, Any] | None = None,
    name: str = "default",
) -> TemplateReport:
    """The report of all rules (or of ``codes``) on a template, rendered here and unbounded: nothing hostile, please.

    ``variables`` are its special tokens; without any, ``eos_token`` is ``</s>``. ``config`` is its
    tokenizer_config.json, ``name`` what the template is called there.
    """
    copy = TemplateCopy(name=name, source=source, file=FILE)
    target = Target(text=FILE, kind=TargetKind.FILE)
    job = Job(
        copy=copy,
        snapshot=Snapshot(target=target, files={}, templates=(copy,), copies=(copy,), config=config or {}),
        profile=resolve_profile(transformers),
        codes=codes,
        variables={"eos_token": "</s>"} if variables is None else dict(variables),
        tokenizer=None,
        conversations=conversations or [],
        force_tools=force_tools,
        selection_error=None,
    )
    return inspect_template(job)


def excerpt(source: str, finding: Finding) -> str:
    """The piece of the source that a finding points at; its line and column must agree with its offset."""
    place = finding.place
    assert place is not None, f"{finding.rule} has no place"
    before = source[: place.offset]
    assert (place.line, place.column) == (before.count("\n") + 1, place.offset - (before.rfind("\n") + 1) + 1)
    return source[place.offset : place.end_offset]
