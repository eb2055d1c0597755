"""Drift -> findings of the rules TL601 to TL605, for every format that knows findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from template_lint.lock.drift.model import Drift, Grade, PatchState
from template_lint.model import Finding
from template_lint.rules.registry import find_rule

_RULES = {Grade.REVISION: "TL601", Grade.FILES: "TL602", Grade.PROMPTS: "TL603", Grade.VERDICT: "TL604"}


def findings_of(drift: Drift, advice: Sequence[str]) -> Iterator[Finding]:
    """One finding for the grade, and one for each training template that no longer belongs there.

    A pair of which something could not be compared has a finding only for what is known to differ.
    """
    code = _RULES.get(drift.grade)
    if code is not None and not (drift.grade is Grade.FILES and drift.unchecked):
        yield find_rule(code)().finding(
            None,
            drift.sentence,
            remedy=" ".join(advice),
            file=next((change.path for change in drift.files), None),
            scenario=_first_conversation(drift),
            evidence=_evidence(drift),
        )
    for template in drift.templates:
        if template.patch is not None and template.patch.status != "valid":
            yield find_rule("TL605")().finding(
                None,
                template.patch.sentence,
                remedy=_patch_remedy(template.patch),
                file=template.file,
                evidence=template.patch._asdict(),
            )


def _first_conversation(drift: Drift) -> str | None:
    return next((name for template in drift.templates for name in template.prompts.names), None)


def _evidence(drift: Drift) -> dict[str, Any]:
    return {
        "before": drift.before._asdict(),
        "after": drift.after._asdict(),
        "files": [change._asdict() for change in drift.files],
        "scenarios": [name for template in drift.templates for name in template.prompts.names],
        "losses": [loss for template in drift.templates for loss in template.losses],
    }


def _patch_remedy(patch: PatchState) -> str:
    if patch.status == "not-needed":
        return "Leave the training template out with the new files."
    if patch.status == "broken" and patch.instead:
        return f"Use {patch.instead} with the new files."
    if patch.status == "changed":
        return "Keep the copy that the run began with, or begin a new run with the new one."
    return "Keep the pin, or look for another repair with `template-lint fix`."
