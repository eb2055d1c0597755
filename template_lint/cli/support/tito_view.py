"""A TITO report laid out for a person: the answer, what fails and what to do, the drift table. Fits a screen."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from template_lint.report.layout.table import Cell, table
from template_lint.tito.drift_report import DriftSummary, Example, RatioSummary
from template_lint.tito.evidence import Check, Status
from template_lint.tito.report import TemplateTito, TitoReport

_STYLES = {Status.FAIL: "bold red", Status.WARN: "yellow", Status.SKIPPED: "dim", Status.PASS: "green"}
_ANSWERS = {True: "bold green", False: "bold red", None: "bold yellow"}
_MOST_EXAMPLES = 2


def lines_of(report: TitoReport, canvas: Canvas) -> Iterator[str]:
    """Yield the lines of a report; every template begins with its answer."""
    for number, template in enumerate(report.templates):
        if number:
            yield ""
        yield from _template(report, template, canvas)


def _template(report: TitoReport, template: TemplateTito, canvas: Canvas) -> Iterator[str]:
    word, _, rest = template.answer.partition(":")
    yield from canvas.hang(f"{word}: ", visible(rest.strip()), style=_ANSWERS[template.sound], rest="  ")
    name = f" ({template.name})" if len(report.templates) > 1 else ""
    profile = f"transformers {report.profile}, {report.engine}"
    played = f"{template.played} of {template.conversations} conversations"
    yield from canvas.hang(
        "", visible(f"{report.target}{name}: {template.verdict.tito}, {profile}, {played}, seed {report.seed}")
    )
    if template.problem is not None:
        return
    yield ""
    yield from _checks(template.checks, canvas)
    if template.drift is not None and template.ratio is not None and template.drift.buffers:
        yield ""
        yield from _drift(template.drift, template.ratio, canvas)


def _checks(checks: list[Check], canvas: Canvas) -> Iterator[str]:
    for status in (Status.FAIL, Status.WARN):
        for check in checks:
            if check.status is status:
                rule = f" {check.rule}" if check.rule else ""
                label = f"{status.value} {check.name}{rule}: "
                yield from canvas.hang(label, visible(check.message), style=_STYLES[status], rest="    ")
                if check.remedy:
                    yield from canvas.hang("    do: ", visible(check.remedy), rest="        ")
    for status in (Status.PASS, Status.SKIPPED):
        names = [check.name for check in checks if check.status is status]
        if names:
            yield from canvas.hang(f"{status.value}: ", ", ".join(names), style=_STYLES[status], rest="    ")


def _drift(drift: DriftSummary, ratio: RatioSummary, canvas: Canvas) -> Iterator[str]:
    share = f"{100 * drift.drifted_tokens / drift.tokens:.1f} %"
    yield from canvas.hang(
        "", f"If these {drift.buffers} buffers ({drift.tokens} tokens) were decoded and encoded again:"
    )
    header = ("drifted tokens", "silent", "straddling", "CLEAN", "REALIGN", "FORK", "ratio, kept", "ratio, again")
    again = "none: lengths differ"
    if ratio.reencoded_maximum is not None and ratio.reencoded_outside_clip is not None:
        again = f"up to {ratio.reencoded_maximum:.3g}, {100 * ratio.reencoded_outside_clip:.0f} % clipped"
    kept = "1.0" if ratio.tito_maximum_error == 0 else f"off by {ratio.tito_maximum_error:.3g}"
    counts = (drift.silent, drift.straddling, drift.clean, drift.realign, drift.fork)
    row = [f"{drift.drifted_tokens} ({share})", *map(str, counts), kept, again]
    yield from table([[Cell(text) for text in row]], canvas, header=header, right=frozenset(range(1, 6)))
    for example in drift.examples[:_MOST_EXAMPLES]:
        yield from canvas.hang("", f"e.g. {_tokens(example, again=False)} becomes {_tokens(example, again=True)}")


def _tokens(example: Example, *, again: bool) -> str:
    texts, ids = example.sampled_texts, example.sampled
    if again:
        texts, ids = example.reencoded_texts, example.reencoded
    shown = " ".join(f"'{visible(text, backslash=True)}'" for text in texts) or "nothing"
    return f"{shown} {ids}"
