"""Summary -> findings of the audit's rules, and the one-word answer: is training on these rollouts sound?"""

from __future__ import annotations

from typing import Any

from template_lint.audit.causes import CAUSES
from template_lint.audit.invariants import HISTORY, PROMPT
from template_lint.audit.prompts import WITHOUT_TOOLS
from template_lint.audit.run import Audit
from template_lint.audit.summary import Summary, Tally, origin_as_json
from template_lint.model import Finding, Severity, Skipped
from template_lint.rules.audited import AuditRule, Seen
from template_lint.rules.registry import all_rules

DRIFT = "TLA20"


def audit_rules() -> list[AuditRule]:
    """The rules of the audit, by code."""
    return [rule() for rule in all_rules() if issubclass(rule, AuditRule)]


def findings(audit: Audit) -> list[Finding]:
    """One finding per rule that found something, errors first, then by number of trajectories."""
    summary, found = audit.summary, []
    for rule in audit_rules():
        seen = _seen(summary, rule.code)
        if seen is None or not seen.found or (audit.codes is not None and rule.code not in audit.codes):
            continue
        found.append((seen.found, _finding(rule, seen, audit)))
    return [finding for _, finding in sorted(found, key=lambda item: (-item[1].severity.rank, -item[0], item[1].rule))]


def _seen(summary: Summary, code: str) -> Seen | None:
    if code == DRIFT:
        checked = sum(summary.drift.get(word, 0) for word in ("CLEAN", "REALIGN", "FORK"))
        if not checked:
            return None
        changed = checked - summary.drift.get("CLEAN", 0)
        return Seen(changed, checked, summary.worst_drift[0].what if summary.worst_drift else "")
    tally = summary.tallies.get(code)
    if tally is None:
        return None
    first = tally.examples[0].message if tally.examples else ""
    return Seen(tally.found, tally.asked, first, tally.values.percentile(0.5), tally.notes)


def _finding(rule: AuditRule, seen: Seen, audit: Audit) -> Finding:
    evidence: dict[str, Any] = {"found": seen.found, "asked": seen.asked}
    files = audit.files
    tally = audit.summary.tallies.get(rule.code, Tally())
    if rule.code == DRIFT:
        evidence |= dict(sorted(audit.summary.drift.items()))
        evidence["examples"] = [origin_as_json(strip.origin, files) for strip in audit.summary.worst_drift]
    else:
        evidence["examples"] = [
            {**origin_as_json(example.origin, files), "message": example.message, "token": example.position}
            for example in tally.examples
        ]
    if rule.code in CAUSES:
        evidence["median"] = seen.middle
        evidence["variants"] = dict(sorted(seen.variants.items()))
    places = evidence["examples"]
    return rule.finding(
        None,
        rule.describe(seen),
        remedy=rule.advise(seen),
        severity=rule.weigh(seen),
        file=places[0]["file"] if places else None,
        evidence=evidence,
    )


def not_asked(audit: Audit) -> list[Skipped]:
    """The rules that could be asked of no trajectory, with the reason."""
    asked = {code for code, tally in audit.summary.tallies.items() if tally.asked}
    if audit.summary.drift:
        asked.add(DRIFT)
    wanted = audit.codes
    return [
        Skipped(rule.code, _why_not(rule.code, audit))
        for rule in audit_rules()
        if rule.code not in asked and (wanted is None or rule.code in wanted)
    ]


_WHY = {
    "TLA03": "no prompt length is recorded; give the field prompt_len",
    "TLA07": "no log-probabilities are recorded; give the field logprobs",
    "TLA08": "the target's prompts have no BOS token of their own",
    "TLA09": "the target declares no stop token; give --stop-ids",
    "TLA10": "the target's turns do not all begin with special tokens",
    "TLA11": "no row has messages that the target's template renders",
    HISTORY: "no rollout is recorded in several turns; give the fields rollout and turn",
    DRIFT: "no buffer could be decoded and encoded",
}


def _why_not(code: str, audit: Audit) -> str:
    if code == "TLA11" and not audit.request.render:
        return "switched off by --no-render"
    if code == PROMPT and (tally := audit.summary.tallies.get(PROMPT)) is not None and tally.notes.get(WITHOUT_TOOLS):
        return "prompts were made with tools, which the rows do not record; give the field tools"
    if code in CAUSES:
        summary = audit.summary
        missing = "sampler's" if not summary.with_logprobs else "trainer's"
        name = "logprobs" if not summary.with_logprobs else "trainer_logprobs"
        more = ", or --score MODEL" if summary.with_logprobs else ""
        return f"the {missing} log-probabilities are not recorded; give the field {name}{more}"
    return _WHY.get(code, "nothing to ask it of")


def is_sound(audit: Audit, found: list[Finding]) -> bool | None:
    """False where a finding is an error; None where there is a warning only, or not everything could be read."""
    if any(finding.severity is Severity.ERROR for finding in found):
        return False
    doubtful = any(finding.severity is Severity.WARNING for finding in found)
    return None if doubtful or audit.summary.bad_rows or audit.summary.unreadable else True
