"""The audit as one self-contained page: the answer, findings, histograms, token strips of the worst trajectories.

No script and nothing from elsewhere: a content policy in the page forbids both. Text of rollouts is escaped by Jinja,
and made visible first.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from template_lint.audit.answer import answer_of, unread_parts
from template_lint.audit.findings import DRIFT, audit_rules, findings, not_asked
from template_lint.audit.model import Strip, Token
from template_lint.audit.run import Audit
from template_lint.model import Finding
from template_lint.report.audit.text import place, scored_with
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.histogram import bars, histogram
from template_lint.version import __version__

_FOLDER = Path(__file__).parent.parent / "page"
_LOG_CLIP = (math.log(0.8), math.log(1.2))
_STEPS = (0.05, 0.3, 1.0)
"""|log-ratio| in nats at which a token's colour grows deeper."""


def write(audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
    """Write the page."""
    found = findings(audit)
    answer = answer_of(audit, found)
    summary = audit.summary
    text = _page().render(
        title=f"template-lint audit: {answer.word}",
        style="".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("report.css", "audit.css")),
        state=answer.state,
        answer=answer.word,
        why=answer.why,
        facts=_facts(audit),
        findings=[_finding(finding) for finding in found],
        rules=_rules(audit, found),
        skipped=[{"rule": item.rule, "reason": visible(item.reason)} for item in not_asked(audit)],
        plots=_plots(audit),
        figures=_figures(summary.health.as_json()),
        drift=[(word, f"{summary.drift.get(word, 0):,}") for word in ("CLEAN", "REALIGN", "FORK")],
        drifted=f"{summary.drift.get('drifted_tokens', 0):,}",
        checked=bool(summary.drift),
        worst_ratio=[_strip(audit, strip) for strip in summary.worst_ratio],
        worst_drift=[_strip(audit, strip) for strip in summary.worst_drift],
        steps=_STEPS,
        errors=[(place(audit, error.origin), visible(error.message)) for error in summary.errors],
        unread=", ".join(unread_parts(audit)),
        unreadable=[(visible(audit.files[file]), visible(reason)) for file, reason in summary.unreadable],
        footer=f"template-lint {__version__}",
    )
    out.write(text.rstrip("\n") + "\n")


@cache
def _page() -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("audit.html.jinja")


def _facts(audit: Audit) -> list[str]:
    summary = audit.summary
    facts = [f"{visible(audit.request.target)}, layout {audit.fields.name}"]
    facts.append(f"{summary.tokens:,} tokens, {summary.sampled:,} of them sampled")
    if audit.request.score is not None:
        facts.append(scored_with(audit.request.score))
    return facts + [f"{visible(note)} ({number:,} trajectories)" for note, number in sorted(summary.assumed.items())]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "severity": finding.severity.value,
        "rule": finding.rule,
        "name": finding.name,
        "found": f"{finding.evidence['found']:,}",
        "asked": f"{finding.evidence['asked']:,}",
        "message": visible(finding.message),
        "remedy": visible(finding.remedy),
        "places": [f"{visible(item['file'])}:{item['row']}" for item in finding.evidence["examples"][:5]],
    }


def _rules(audit: Audit, found: list[Finding]) -> list[dict[str, str]]:
    """A row for each rule that could be asked: how often it was, and what it found."""
    states = {finding.rule: finding.severity.value for finding in found}
    rows = []
    for rule in audit_rules():
        tally, drift = audit.summary.tallies.get(rule.code), audit.summary.drift
        number, asked = (tally.found, tally.asked) if tally is not None else (0, 0)
        if rule.code == DRIFT:
            number, asked = drift.get("REALIGN", 0) + drift.get("FORK", 0), drift.get("CLEAN", 0)
            asked += number
        if asked and (audit.codes is None or rule.code in audit.codes):
            name = f"{rule.code} {rule.name}"
            rows.append(
                {"name": name, "state": states.get(rule.code, "ok"), "found": f"{number:,}", "asked": f"{asked:,}"}
            )
    return rows


def _plots(audit: Audit) -> list[dict[str, Any]]:
    from markupsafe import Markup

    health, shares = audit.summary.health, audit.summary.drift_shares
    asked = (
        ("Tokens by log importance ratio (trainer - sampler)", "nats", health.logs.coarse(0.02), 0.02, _LOG_CLIP),
        ("Trajectories by log ratio of the whole sequence", "nats", health.sequence_logs.coarse(0.2), 0.2, ()),
        ("Drifting trajectories by share of their tokens that change", "", shares.coarse(0.01), 0.01, ()),
    )
    return [
        {"label": label, "unit": unit, "svg": Markup(histogram(bars(bins, width), label, unit, marks))}
        for label, unit, bins, width, marks in asked
        if bins
    ]


def _figures(health: dict[str, Any] | None) -> list[tuple[str, str]]:
    if health is None or health["ratio"]["mean"] is None:
        return []
    ratio, parts, sequence = health["ratio"], health["ratio"]["percentiles"], health["sequence_ratio"]["percentiles"]
    return [
        ("sampled tokens compared", f"{health['tokens']:,}"),
        ("mean ratio", f"{ratio['mean']:.4g}"),
        ("ratio, 1 % to 99 %", f"{parts['1']:.4g} to {parts['99']:.4g}"),
        ("largest ratio", f"{ratio['max']:.4g}"),
        ("outside 1 ± 0.2", f"{100 * ratio['outside_clip']:.2f} %"),
        ("KL estimators k1, k3", f"{health['kl']['k1']:.3g}, {health['kl']['k3']:.3g}"),
        ("ratio of sequences, 1 % to 99 %", f"{sequence['1']:.4g} to {sequence['99']:.4g}"),
        ("tokens of trainer probability 0", f"{health['trainer_probability_zero']:,}"),
    ]


def _strip(audit: Audit, strip: Strip) -> dict[str, Any]:
    return {
        "place": place(audit, strip.origin),
        "what": visible(strip.what),
        "where": f"tokens {strip.start} to {strip.start + len(strip.tokens) - 1} of {strip.length}",
        "tokens": [_token(token) for token in strip.tokens],
        "again": [visible(text, keep="\n").replace("\n", "⏎") or f"<{token_id}>" for token_id, text in strip.again],
    }


def _token(token: Token) -> dict[str, Any]:
    ratio = token.log_ratio
    depth = 0 if ratio is None else sum(abs(ratio) >= step for step in _STEPS)
    classes = ["model" if token.sampled else "prompt"]
    if depth:
        classes.append(f"{'above' if ratio is not None and ratio > 0 else 'below'}{depth}")
    if token.changed:
        classes.append("changed")
    said = f"id {token.id}" + ("" if ratio is None else f", log-ratio {ratio:+.3g}")
    return {
        "text": visible(token.text, keep="\n").replace("\n", "⏎") or f"<{token.id}>",
        "breaks": "\n" in token.text,
        "classes": " ".join(classes),
        "title": said,
    }
