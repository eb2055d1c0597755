"""From what was found out about a pair to its grade, its sentence, its findings and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from template_lint.lock.drift.advice import advice_for
from template_lint.lock.drift.findings import findings_of
from template_lint.lock.drift.model import Drift, FileChange, Grade, SideInfo, TemplateDrift, TokenizerDrift
from template_lint.lock.drift.sides import Kind, Pair
from template_lint.model import TargetError


def unreadable(pair: Pair) -> Drift | None:
    """The drift of a pair of which a side could not be looked at, None where both were."""
    for side in (pair.before, pair.after):
        if side.error is not None:
            which = side_phrase(pair, side.info)
            error = TargetError(side.error.kind, side.error.message)
            sentence = f"not compared: {which} could not be read: {side.error.message}"
            return Drift(pair.name, pair.before.info, pair.after.info, Grade.SAME, sentence, error=error)
    return None


def judge(
    pair: Pair,
    files: Sequence[FileChange],
    templates: Sequence[TemplateDrift],
    unmatched: Sequence[str],
    tokenizer: TokenizerDrift | None,
    unchecked: Sequence[str],
) -> Drift:
    """Grade one pair whose two sides were read."""
    grade = _grade(pair, files, templates, unmatched, tokenizer, unchecked)
    drift = Drift(
        target=pair.name,
        before=pair.before.info,
        after=pair.after.info,
        grade=grade,
        sentence=_sentence(pair, grade, files, templates, unmatched, tokenizer, unchecked),
        files=tuple(files),
        templates=tuple(templates),
        unmatched=tuple(unmatched),
        tokenizer=tokenizer,
        unchecked=tuple(unchecked),
        anchor=pair.anchor,
    )
    advice = tuple(advice_for(pair, drift))
    return drift._replace(advice=advice, findings=tuple(findings_of(drift, advice)))


def side_phrase(pair: Pair, info: SideInfo) -> str:
    """How a sentence names a side: ``the pin 895c8d1``, ``main (b968826)``, ``transformers 4.57``, a path."""
    if pair.kind is Kind.VERSIONS:
        return f"transformers {info.profile}"
    if info.repo is None or pair.kind is Kind.TARGETS:
        return info.target if info.revision is None or info.revision in info.target else f"{info.target} ({info.short})"
    if info is pair.before.info:
        return f"the pin {info.short}"
    requested = info.requested or "the default branch"
    return f"{requested} ({info.short})" if info.revision else requested


def _grade(
    pair: Pair,
    files: Sequence[FileChange],
    templates: Sequence[TemplateDrift],
    unmatched: Sequence[str],
    tokenizer: TokenizerDrift | None,
    unchecked: Sequence[str],
) -> Grade:
    if any(template.losses for template in templates):
        return Grade.VERDICT
    if unmatched or any(template.prompts.names for template in templates) or (tokenizer and tokenizer.differ):
        return Grade.PROMPTS
    # A pair of which something could not be compared is never below FILES: nobody knows that it is the same.
    if files or unchecked or (tokenizer and tokenizer.changes):
        return Grade.FILES
    moved = pair.kind is Kind.PIN and pair.before.info.revision != pair.after.info.revision
    return Grade.REVISION if moved else Grade.SAME


def _sentence(
    pair: Pair,
    grade: Grade,
    files: Sequence[FileChange],
    templates: Sequence[TemplateDrift],
    unmatched: Sequence[str],
    tokenizer: TokenizerDrift | None,
    unchecked: Sequence[str],
) -> str:
    before, after = (side_phrase(pair, side.info) for side in (pair.before, pair.after))
    if grade is Grade.SAME:
        if pair.kind is Kind.PIN:
            return f"nothing moved: {after} is the commit that is pinned"
        if pair.kind is Kind.VERSIONS:
            return f"{_conversations(templates)} read the same under {before} and {after}"
        return f"{before} and {after} have the same files"
    where = _from_to(pair, before, after)
    if grade is Grade.REVISION:
        return f"only the revision moved, no file that shapes prompts changed{where}"
    if grade is Grade.VERDICT:
        losses = [loss for template in templates for loss in template.losses]
        more = f", and {len(losses) - 1} more" if len(losses) > 1 else ""
        differ = sum(len(template.prompts.names) for template in templates)
        total = sum(template.prompts.conversations for template in templates)
        prompts = f"; {differ} of {total} conversations read differently" if differ else ""
        return f"{losses[0]}{more}{prompts}{where}"
    if grade is Grade.PROMPTS:
        return f"{_differing(pair, templates, unmatched, tokenizer)}{where}"
    if unchecked:
        return f"not all of it could be compared: {unchecked[0]}{where}"
    what = _count(len(files), "file") + " changed" if files else "the tokenizer changed"
    return f"{what}, prompts did not: {_conversations(templates)} read the same{where}"


def _from_to(pair: Pair, before: str, after: str) -> str:
    """The end of a sentence, where the name of the pair does not say it: `` (from the pin 895c8d1 to ...)``."""
    if pair.kind is Kind.TARGETS:
        return ""
    if pair.kind is Kind.VERSIONS:
        return f" ({before} against {after})"
    requested = pair.after.info.requested or "the default branch"
    return f" (pinned {pair.before.info.short}, {requested} is now {pair.after.info.short})"


def _conversations(templates: Sequence[TemplateDrift]) -> str:
    total = sum(template.prompts.conversations for template in templates)
    return f"all {total} conversations"


def _differing(
    pair: Pair, templates: Sequence[TemplateDrift], unmatched: Sequence[str], tokenizer: TokenizerDrift | None
) -> str:
    total = sum(template.prompts.conversations for template in templates)
    differ = sum(len(template.prompts.names) for template in templates)
    if differ:
        raising = "that raise under one of the two" if pair.kind is Kind.VERSIONS else "that raise now"
        words = {"text": "in text", "ids": "in token ids only", "error": raising}
        numbers = {kind: sum(template.prompts.number(kind) for template in templates) for kind in words}
        split = ", ".join(f"{numbers[kind]} {words[kind]}" for kind in words if numbers[kind])
        return f"{differ} of {total} conversations read differently: {split}"
    if tokenizer and tokenizer.differ:
        texts = f"{tokenizer.differ} of {tokenizer.probes} probe texts have other token ids"
        return f"{texts}; the {total} conversations do not show it"
    return f"only one side has the template {', '.join(unmatched)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
