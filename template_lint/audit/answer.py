"""The answer in one line, the same in every format: sound or not, and why."""

from __future__ import annotations

from typing import NamedTuple

from template_lint.audit.causes import LIKE_TEMPERATURE
from template_lint.audit.findings import is_sound
from template_lint.audit.invariants import PROMPT
from template_lint.audit.prompts import WITHOUT_TOOLS
from template_lint.audit.run import Audit
from template_lint.model import Finding, Severity

_MOST_RULES = 4


class Answer(NamedTuple):
    """``word`` is the answer, ``state`` its severity (``ok``, ``warning``, ``error``), ``why`` the rest of the line."""

    word: str
    state: str
    why: str


def answer_of(audit: Audit, found: list[Finding]) -> Answer:
    """The answer to: is training on these rollouts sound?"""
    summary = audit.summary
    total = count_of(summary.trajectories, "trajectory", "trajectories")
    unread = unread_parts(audit)
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    if errors:
        lost = f"; {' and '.join(unread)} not read" if unread else ""
        return Answer("not sound", "error", f"{_stranger(audit)}{_named(errors)} of {total}{lost}")
    doubts = [finding for finding in found if finding.severity is Severity.WARNING]
    of = f" of {', '.join(sorted(audit.codes))}" if audit.codes is not None and len(audit.codes) <= _MOST_RULES else ""
    of = of or (" of the selected rules" if audit.codes is not None else "")
    if unread:
        more = f"; {_named(doubts)}" if doubts else ""
        said = f"no error{of} in {total}, but {' and '.join(unread)} could not be read{more}"
        return Answer("not all read", "warning", said)
    if doubts:
        return Answer("doubtful", "warning", f"no error{of}, but {_named(doubts)} of {total}")
    assert is_sound(audit, found)
    return Answer("sound", "ok", f"no error{of} in {total}{_as_far_as(audit)}")


def _named(findings: list[Finding]) -> str:
    names = "; ".join(f"{_name(finding)} in {finding.evidence['found']:,}" for finding in findings[:_MOST_RULES])
    more = len(findings) - _MOST_RULES
    return names + (f"; {count_of(more, 'more rule', 'more rules')}" if more > 0 else "")


def _name(finding: Finding) -> str:
    """The name of a finding, and what it looks like where its cause is not proven."""
    like = finding.evidence.get("variants", {}).get(LIKE_TEMPERATURE, 0)
    return f"{finding.name} (like another temperature)" if 2 * like > finding.evidence["found"] else finding.name


def _stranger(audit: Audit) -> str:
    """Where no buffer holds a token that opens or ends a turn of the target, that is why much else is found."""
    if audit.summary.strangers < max(audit.summary.trajectories, 1):
        return ""
    return "another model's tokens, it seems (none opens or ends a turn of --tokenizer); "


def _as_far_as(audit: Audit) -> str:
    missing = [] if audit.summary.with_trainer else ["the trainer's log-probabilities"]
    prompts = audit.summary.tallies.get(PROMPT)
    if prompts is not None and prompts.notes.get(WITHOUT_TOOLS) and (audit.codes is None or PROMPT in audit.codes):
        missing.append("the tools of the prompts")
    return f" as far as it can be told without {' and '.join(missing)}" if missing else ""


def unread_parts(audit: Audit) -> list[str]:
    """What could not be read, counted: rows and files."""
    bad, damaged = audit.summary.bad_rows, len(audit.summary.unreadable)
    return [
        *([count_of(bad, "bad row", "bad rows")] if bad else []),
        *([count_of(damaged, "damaged file", "damaged files")] if damaged else []),
    ]


def count_of(number: int, one: str, many: str) -> str:
    """Return a number with its noun, thousands parted by commas."""
    return f"{number:,} {one if number == 1 else many}"
