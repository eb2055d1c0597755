"""What the harness found out, as an object, as a sentence and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from template_lint.model import Verdict
from template_lint.tito.drift_report import DriftSummary, RatioSummary
from template_lint.tito.evidence import Check, Status

SCHEMA_VERSION = 1


class TemplateTito(NamedTuple):
    """What was found out about one template.

    ``verdict`` is DESIGN.md's word for the template by its renders, ``appended`` one for each kind of appended message
    (``tool``, ``user``, ``system``) by its buffers too. ``played`` conversations of ``conversations`` have a sampled
    turn. ``problem`` says why nothing could be checked; then the rest is empty.
    """

    name: str
    file: str | None
    verdict: Verdict
    appended: dict[str, str]
    conversations: int = 0
    played: int = 0
    checks: list[Check] = []  # noqa: RUF012  (nobody mutates it)
    drift: DriftSummary | None = None
    ratio: RatioSummary | None = None
    problem: str | None = None

    @property
    def sound(self) -> bool | None:
        """Whether no check fails; None where nothing could be checked."""
        if self.problem is not None or not self.played:
            return None
        return all(check.status is not Status.FAIL for check in self.checks)

    @property
    def answer(self) -> str:
        """One sentence: will the buffer be exactly right with this template and tokenizer?"""
        if self.sound is None:
            return f"Not known: {self.problem}."
        if not self.sound:
            bad = [check for check in self.checks if check.status is Status.FAIL]
            rules = ", ".join(dict.fromkeys(check.rule or check.name for check in bad))
            return f"No: the buffer will not be what the template renders ({rules})."
        passed = {check.name for check in self.checks if check.status is Status.PASS}
        right = [kind for kind in self.appended if f"buffer-after-{kind}" in passed]
        wrong = [kind for kind, word in self.appended.items() if word == "unstable"]
        text = "Yes: the buffer is exactly right" + (f" after {_listed(right)} messages" if right else "")
        if self.verdict.kwargs:
            text += f" with {', '.join(f'{key}={value!r}' for key, value in self.verdict.kwargs.items())}"
        if self.appended["tool"] == "no-tools":
            text += "; the template knows no tools"
        return f"{text}; a {_listed(wrong, 'or')} message rewrites history." if wrong else f"{text}."


def _listed(words: Sequence[str], joint: str = "and") -> str:
    return f" {joint} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


class TitoReport(NamedTuple):
    """The report of one target."""

    target: str
    repo: str | None
    revision: str | None
    engine: str
    profile: str
    seed: int
    segmentations: int
    templates: list[TemplateTito]

    @property
    def sound(self) -> bool | None:
        """False if a template is unsound, None if one (or all) could not be checked, else True."""
        answers = [template.sound for template in self.templates]
        if False in answers:
            return False
        return None if None in answers or not answers else True


def as_json(report: TitoReport) -> dict[str, Any]:
    """The report as plain data, version SCHEMA_VERSION: keys are only ever added."""
    return {
        **report._asdict(),
        "sound": report.sound,
        "templates": [_template_json(template) for template in report.templates],
    }


def _template_json(template: TemplateTito) -> dict[str, Any]:
    drift = template.drift
    return {
        **template._asdict(),
        "answer": template.answer,
        "sound": template.sound,
        "verdict": template.verdict._asdict(),
        "checks": [{**check._asdict(), "status": check.status.value} for check in template.checks],
        "drift": drift
        and {
            **drift._asdict(),
            "worst": drift.worst and drift.worst._asdict(),
            "examples": [example._asdict() for example in drift.examples],
        },
        "ratio": template.ratio and template.ratio._asdict(),
    }
