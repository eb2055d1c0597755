"""The drift report for a person at a terminal: the grade first, what to do, then the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from template_lint.lock.drift.model import (
    Difference,
    Drift,
    DriftReport,
    Grade,
    ProbeDifference,
    TemplateDrift,
    TokenDifference,
    TokenizerDrift,
)
from template_lint.report.drift.words import LABELS, examples, headline, names, split_aspects, summary, title
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.divergence import divergence
from template_lint.report.layout.escape import visible, visible_cells
from template_lint.report.layout.width import head

_MOST_DIFF_LINES = 40
_MOST_FINDINGS = 5


def write(report: DriftReport, out: TextIO, *, canvas: Canvas) -> None:
    """Write every comparison, and a last line that counts them."""
    for drift in report.drifts:
        for line in _drift(drift, canvas):
            out.write(line + "\n")
        out.write("\n")
    out.write(summary(report) + "\n")


def _drift(drift: Drift, canvas: Canvas) -> Iterator[str]:
    if drift.error is not None:
        yield from canvas.hang("NOT COMPARED ", headline(drift), style="bold magenta", rest="  ")
        return
    label, style = LABELS[drift.grade]
    yield from canvas.hang(label, headline(drift), style=style, rest="     ")
    for step in drift.advice:
        yield from canvas.hang("  do: ", visible(step), style="bold green")
    for reason in drift.unchecked:
        yield from canvas.hang("  not compared: ", visible(reason), style="bold magenta", rest="    ")
    if drift.grade is Grade.SAME:
        return
    yield from _files(drift, canvas)
    for template in drift.templates:
        yield from _template(template, drift, canvas)
    for name in drift.unmatched:
        yield ""
        yield from canvas.hang("", f"only one side has the template {visible(name)}")
    if drift.tokenizer is not None:
        yield from _tokenizer(drift.tokenizer, drift, canvas)


def _files(drift: Drift, canvas: Canvas) -> Iterator[str]:
    if drift.files:
        yield ""
        yield canvas.paint("files (sha256)", "bold")
    for change in drift.files:
        before, after = (digest[:12] if digest else "absent" for digest in (change.before, change.after))
        sign = "+" if change.before is None else "-" if change.after is None else "~"
        yield from canvas.hang(f"  {sign} ", f"{visible(change.path)}  {before} -> {after}", rest="    ")


def _template(template: TemplateDrift, drift: Drift, canvas: Canvas) -> Iterator[str]:
    yield from _source(template, drift, canvas)
    first = template.prompts.first
    if first is not None:
        yield ""
        yield from _difference(first, template, drift, canvas)
    if template.prompts.gained and first is None:
        yield ""
        yield canvas.paint(f"{title(template, drift)}conversations that raised before and give a prompt now", "bold")
        yield from canvas.hang("  in: ", names(list(template.prompts.gained)), rest="    ")
    changed, same = split_aspects(template)
    yield ""
    yield canvas.paint(f"{title(template, drift)}for the run", "bold")
    for aspect in changed:
        yield from canvas.hang(f"  {aspect.name}: ", visible(aspect.sentence), style="yellow", rest="    ")
        for word, text in ((drift.before.word, aspect.before), (drift.after.word, aspect.after)):
            if text is not None:
                cells = visible_cells(text, backslash=True)
                yield f"    {word:<{_lead(drift)}}{head(cells, canvas.width - _lead(drift) - 4) or '(nothing)'}"
    if same:
        yield from canvas.hang("  unchanged: ", ", ".join(aspect.sentence for aspect in same), rest="    ")
    if template.patch is not None:
        yield from canvas.hang("  training template: ", visible(template.patch.sentence), rest="    ")
    elif template.fits is not None:
        yield from canvas.hang("  training template: ", f"{visible(template.fits)} fits the new template", rest="    ")
    yield from _findings(template, canvas)


def _lead(drift: Drift) -> int:
    return max(len(drift.before.word), len(drift.after.word)) + 2


def _source(template: TemplateDrift, drift: Drift, canvas: Canvas) -> Iterator[str]:
    if not template.source_added and not template.source_removed:
        return
    yield ""
    counts = f"+{template.source_added} -{template.source_removed}"
    yield canvas.paint(f"{title(template, drift)}template {counts}", "bold")
    styles = {"+": "green", "-": "red", "@": "blue"}
    for line in template.source_diff[2:_MOST_DIFF_LINES]:
        yield canvas.paint("  " + head(visible_cells(line), canvas.width - 2), styles.get(line[:1], ""))
    if len(template.source_diff) > _MOST_DIFF_LINES:
        yield "  ... (the JSON report has more)"


def _difference(first: Difference, template: TemplateDrift, drift: Drift, canvas: Canvas) -> Iterator[str]:
    where = f"{visible(first.conversation)}, after {first.messages} message{'' if first.messages == 1 else 's'}"
    yield canvas.paint(f"{title(template, drift)}first difference: {where}", "bold")
    words = drift.before.word, drift.after.word
    if first.kind == "error":
        for word, error in zip(words, (first.before_error, first.after_error), strict=True):
            shown = f"raises {visible(error)}" if error else "gives a prompt"
            yield from canvas.hang(f"  {word:<{_lead(drift)}}", shown)
    else:
        evidence = {
            "earlier": first.before,
            "later": first.after,
            "excerpt_offset": first.excerpt_offset,
            "offset": first.offset,
            **_tokens(first.token),
        }
        yield from divergence(evidence, canvas, labels=words)
    differing = list(template.prompts.names)
    yield from canvas.hang("  in: ", names(differing), rest="    ")
    for reason, found in template.prompts.causes.items():
        yield from canvas.hang("  why: ", f"{visible(reason)} ({len(found)} of {len(differing)})", rest="    ")


def _tokens(token: TokenDifference | None) -> dict[str, object]:
    if token is None:
        return {}
    return {
        "token_index": token.at,
        "token_id_earlier": token.before_id,
        "token_id_later": token.after_id,
        "token_earlier": token.before_text,
        "token_later": token.after_text,
    }


def _findings(template: TemplateDrift, canvas: Canvas) -> Iterator[str]:
    if template.before_verdict != template.after_verdict and not template.losses and not template.gains:
        yield from canvas.hang("  verdict: ", f"{template.before_verdict} -> {template.after_verdict}")
    for loss in template.losses:
        yield from canvas.hang("  lost: ", visible(loss), style="red", rest="    ")
    for gain in template.gains:
        yield from canvas.hang("  better: ", visible(gain), style="green", rest="    ")
    yield from canvas.hang("  findings: ", f"{len(template.new)} new, {len(template.fixed)} fixed")
    for sign, findings in (("+", template.new), ("-", template.fixed)):
        for finding in findings[:_MOST_FINDINGS]:
            where = f" (line {finding.place.line})" if finding.place else ""
            text = f"{finding.rule} {finding.name}: {finding.message}{where}"
            yield from canvas.hang(f"    {sign} {finding.severity.value} ", visible(text), rest="      ")
        if len(findings) > _MOST_FINDINGS:
            yield f"    {sign} {len(findings) - _MOST_FINDINGS} more"


def _tokenizer(tokenizer: TokenizerDrift, drift: Drift, canvas: Canvas) -> Iterator[str]:
    yield ""
    yield canvas.paint("tokenizer", "bold")
    if tokenizer.skipped is not None:
        yield from canvas.hang("  ", f"not compared: {visible(tokenizer.skipped)}")
        return
    for change in tokenizer.changes:
        shown = examples(change)
        text = visible(change.sentence) + (f": {shown}" if shown else "")
        yield from canvas.hang("  ~ ", text, rest="    ")
        if change.meaning:
            yield from canvas.hang("    means: ", visible(change.meaning))
    if not tokenizer.changes:
        yield from canvas.hang("  ", "what it does is the same; its files are written otherwise")
    differ = f"probe texts: {tokenizer.differ} of {tokenizer.probes} have other token ids"
    yield from canvas.hang("  ", differ, rest="    ")
    for probe in [*([tokenizer.first] if tokenizer.first else []), *tokenizer.touched[:2]]:
        yield from _probe(probe, drift, canvas)
    if tokenizer.decode_differs:
        text = f"{tokenizer.decode_differs} of {tokenizer.probes} have the same ids and decode to another text"
        yield from canvas.hang("  ", f"probe texts: {text}", rest="    ")


def _probe(probe: ProbeDifference, drift: Drift, canvas: Canvas) -> Iterator[str]:
    token = probe.token
    sides = [
        "(end)" if token_id is None else f"'{visible(text or '', backslash=True)}' ({token_id})"
        for token_id, text in ((token.before_id, token.before_text), (token.after_id, token.after_text))
    ]
    text = f"'{visible(probe.text, backslash=True)}' at token {token.at}: {sides[0]} -> {sides[1]}"
    yield from canvas.hang("    e.g. ", text, rest="      ")
