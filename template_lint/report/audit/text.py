"""The audit for a person: sound or not, why, what to do; then drift and ratios, and the worst trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from template_lint.audit.answer import answer_of
from template_lint.audit.auditor import ScoreOptions
from template_lint.audit.findings import findings, not_asked
from template_lint.audit.model import Origin, Strip
from template_lint.audit.run import Audit
from template_lint.model import Finding, Severity
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.summary import count
from template_lint.report.layout.table import Cell, characters, table

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold blue"}
_ANSWERS = {"ok": "bold green", "warning": "bold yellow", "error": "bold red"}
_MOST_BAD_ROWS = 5
_MOST_STRIPS = 3
_STRIP_TOKENS = 16


def write(audit: Audit, out: TextIO, *, canvas: Canvas) -> None:
    """Write the report."""
    for line in lines(audit, canvas):
        out.write(line + "\n")


def lines(audit: Audit, canvas: Canvas) -> Iterator[str]:
    """Yield the lines of the report."""
    found = findings(audit)
    yield from _answer(audit, found, canvas)
    for finding in found:
        yield ""
        yield from finding_lines(audit, finding, canvas)
    skipped = not_asked(audit)
    if skipped:
        yield ""
        by_reason: dict[str, list[str]] = {}
        for item in skipped:
            by_reason.setdefault(item.reason, []).append(item.rule)
        for reason, codes in by_reason.items():
            yield from canvas.hang("not asked: ", f"{', '.join(codes)} ({reason})", style="dim", rest="  ")
    yield from _drift(audit, canvas)
    yield from _health(audit, canvas)
    yield from _unread(audit, canvas)


def _answer(audit: Audit, found: list[Finding], canvas: Canvas) -> Iterator[str]:
    summary = audit.summary
    tokens = f"{summary.tokens:,} tokens, {summary.sampled:,} of them sampled"
    answer = answer_of(audit, found)
    yield from canvas.hang(f"{answer.word.upper()}: ", answer.why, style=_ANSWERS[answer.state], rest="  ")
    yield from canvas.hang("", f"{visible(audit.request.target)}, layout {audit.fields.name}, {tokens}")
    if audit.request.score is not None:
        yield from canvas.hang("", scored_with(audit.request.score))
    for note, number in sorted(summary.assumed.items()):
        yield from canvas.hang("", f"{note} ({number:,} trajectories)")


def finding_lines(audit: Audit, finding: Finding, canvas: Canvas) -> Iterator[str]:
    """Yield one finding: what, where, what to do."""
    label = f"{finding.severity.value} {finding.rule} {finding.name}: "
    yield from canvas.hang(label, visible(finding.message), style=_STYLES[finding.severity], rest="  ")
    places = [
        f"{visible(example['file'])}:{example['row']}" + (f" step {example['step']}" if example["step"] else "")
        for example in finding.evidence["examples"]
    ]
    if places:
        yield from canvas.hang("  at ", ", ".join(places[:5]), rest="     ")
    yield from canvas.hang("  fix: ", visible(finding.remedy), rest="       ")


def _drift(audit: Audit, canvas: Canvas) -> Iterator[str]:
    drift = audit.summary.drift
    if not drift or not audit.summary.worst_drift:
        return
    yield ""
    yield from canvas.hang("", "If the buffers were decoded and encoded again:")
    header = ("CLEAN", "REALIGN", "FORK", "drifted tokens", "same length", "straddling")
    keys = ("CLEAN", "REALIGN", "FORK", "drifted_tokens", "silent", "straddling")
    row = [f"{drift.get(key, 0):,}" for key in keys]
    yield from table([[Cell(text) for text in row]], canvas, header=header, right=frozenset(range(5)))
    for strip in audit.summary.worst_drift[:_MOST_STRIPS]:
        yield from _strip(audit, strip, canvas)


def _health(audit: Audit, canvas: Canvas) -> Iterator[str]:
    health = audit.summary.health
    if not health.tokens and not health.infinite:
        return
    data = health.as_json()
    assert data is not None
    ratio, kl = data["ratio"], data["kl"]
    yield ""
    yield from canvas.hang("", f"Importance ratios exp(trainer - sampler) of {health.tokens:,} sampled tokens:")
    header = ("mean", "1 %", "50 %", "99 %", "max", "outside 1 +- 0.2", "KL k1", "KL k3", "sequence 1 to 99 %")
    parts = ratio["percentiles"]
    sequence = data["sequence_ratio"]["percentiles"]
    row = [
        *(_short(value) for value in (ratio["mean"], parts["1"], parts["50"], parts["99"], ratio["max"])),
        f"{100 * ratio['outside_clip']:.2f} %",
        _short(kl["k1"]),
        _short(kl["k3"]),
        f"{_short(sequence['1'])} to {_short(sequence['99'])}",
    ]
    yield from table([[Cell(text) for text in row]], canvas, header=header, right=frozenset(range(8)))
    if health.infinite:
        yield from canvas.hang("", f"The trainer gives probability 0 to {count(health.infinite, 'more token')}.")
    if data["log_ratio"]["mean_absolute"] is not None and data["log_ratio"]["mean_absolute"] > 0.003:
        for strip in audit.summary.worst_ratio[:_MOST_STRIPS]:
            yield from _strip(audit, strip, canvas)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _strip(audit: Audit, strip: Strip, canvas: Canvas) -> Iterator[str]:
    yield from canvas.hang("  ", f"{place(audit, strip.origin)}: {strip.what}", rest="    ")
    focus = next((at for at, token in enumerate(strip.tokens) if token.changed), None)
    if focus is None:
        ranked = [(abs(token.log_ratio or 0.0), -at) for at, token in enumerate(strip.tokens)]
        focus = -max(ranked)[1] if ranked else 0
    shown = strip.tokens[max(0, focus - 4) : max(0, focus - 4) + _STRIP_TOKENS]
    cells = []
    for token in shown:
        text = visible(token.text, backslash=True) or f"<{token.id}>"
        mark = "*" if token.changed else ""
        ratio = f" {token.log_ratio:+.2g}" if token.log_ratio is not None and abs(token.log_ratio) >= 0.05 else ""
        cells.append(f"[{text}{mark}{ratio}]" if token.sampled else f"({text}{mark})")
    for line in characters("".join(cells), max(canvas.width - 4, 20)):
        yield "    " + line


def _unread(audit: Audit, canvas: Canvas) -> Iterator[str]:
    summary = audit.summary
    if summary.bad_rows or summary.unreadable:
        yield ""
    for error in summary.errors[:_MOST_BAD_ROWS]:
        yield from canvas.hang("bad row: ", f"{place(audit, error.origin)}: {visible(error.message)}", rest="  ")
    if summary.bad_rows > _MOST_BAD_ROWS:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(summary.bad_kinds.items()))
        yield f"{summary.bad_rows:,} bad rows in all: {kinds}"
    for file, reason in summary.unreadable:
        yield from canvas.hang("not read: ", f"{visible(audit.files[file])}: {visible(reason)}", rest="  ")


def place(audit: Audit, origin: Origin) -> str:
    """Return ``file:row``, with the step where a row holds several trajectories."""
    step = f" step {origin.step}" if origin.step else ""
    return f"{visible(audit.files[origin.file])}:{origin.row}{step}"


def scored_with(score: ScoreOptions) -> str:
    """Whose log-probabilities are the trainer's."""
    how = "with the temperature, top_k and top_p that rows record" if score.apply_sampling else "at temperature 1"
    return f"the trainer's log-probabilities are those of {visible(score.model)} in {score.dtype}, {how}"
