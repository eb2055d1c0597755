"""The audit as Markdown, for a pull request or a run's notes: the answer, one row per finding, drift and ratios."""

from __future__ import annotations

import re
from typing import Any, TextIO

from template_lint.audit.answer import answer_of, count_of
from template_lint.audit.findings import findings, not_asked
from template_lint.audit.run import Audit
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$#&])")


def write(audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
    """Write the report."""
    summary, found = audit.summary, findings(audit)
    answer = answer_of(audit, found)
    out.write(f"## Rollouts: {answer.word}\n\n{_text(answer.why)}\n\n")
    total = count_of(summary.trajectories, "trajectory", "trajectories")
    out.write(
        f"{total}, {summary.tokens:,} tokens, {summary.sampled:,} sampled; target {_text(audit.request.target)}.\n"
    )
    if found:
        out.write("\n| rule | severity | trajectories | what | what to do |\n| --- | --- | ---: | --- | --- |\n")
    for finding in found:
        cells = (
            f"{finding.rule} {finding.name}",
            finding.severity.value,
            f"{finding.evidence['found']:,}",
            _text(finding.message),
            _text(finding.remedy),
        )
        out.write(f"| {' | '.join(cells)} |\n")
    drift = summary.drift
    if drift:
        words = ", ".join(f"{word} {drift.get(word, 0):,}" for word in ("CLEAN", "REALIGN", "FORK"))
        out.write(f"\nDecoded and encoded again: {words}; {drift.get('drifted_tokens', 0):,} tokens drift.\n")
    _health(summary.health.as_json(), out)
    skipped = not_asked(audit)
    if skipped:
        out.write("\nNot asked: " + "; ".join(f"{item.rule} ({_text(item.reason)})" for item in skipped) + ".\n")
    for error in summary.errors[:5]:
        where = f"{_text(audit.files[error.origin.file])}, row {error.origin.row}"
        out.write(f"\nBad row: {where}: {_text(error.message)}\n")
    if summary.bad_rows > 5:
        out.write(f"\n{summary.bad_rows:,} bad rows in all.\n")
    for file, reason in summary.unreadable:
        out.write(f"\nNot read: {_text(audit.files[file])}: {_text(reason)}\n")


def _health(data: dict[str, Any] | None, out: TextIO) -> None:
    if data is None:
        return
    ratio, parts, kl = data["ratio"], data["ratio"]["percentiles"], data["kl"]
    if ratio["mean"] is None:
        out.write("\nThe trainer gives probability 0 to every sampled token.\n")
        return
    out.write(
        f"\nImportance ratios: mean {ratio['mean']:.4g}, 1 % {parts['1']:.4g}, 99 % {parts['99']:.4g}, "
        f"max {ratio['max']:.4g}, outside 1 ± 0.2: {100 * ratio['outside_clip']:.2f} %; "
        f"KL k1 {kl['k1']:.3g}, k3 {kl['k3']:.3g}.\n"
    )


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", visible(text))
