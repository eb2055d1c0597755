"""What to do about drift, in the order in which to do it. Says commands in full."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.lock.drift.model import Drift, Grade, TokenizerChange
from template_lint.lock.drift.sides import Kind, Pair

_RENUMBERED = ("added-token-renumbered", "vocabulary-renumbered")
_GROWN = ("added-token-new", "vocabulary-new")
_DECODING = ("decoder", "clean-up", "added-token-made-special", "added-token-made-plain")
_NONE_FORMS = ("null-content", "null-tool-calls")
_KEY_FORMS = ("reasoning-key", "thinking-key")


def advice_for(pair: Pair, drift: Drift) -> Iterator[str]:
    """One sentence a step; none where nothing has to be done or decided."""
    if pair.kind is Kind.VERSIONS:
        yield from _versions(drift)
        return
    grave = drift.grade in (Grade.PROMPTS, Grade.VERDICT)
    upgrade = f"`template-lint lock --upgrade {pair.command}`"
    pinned = pair.kind is Kind.PIN
    if grave:
        keep = f'keep revision="{drift.before.revision}"' if pinned else "keep the files it began with"
        yield f"A run that has begun: do not resume it with the new files; {keep}."
    if drift.unchecked:
        yield "Do not accept what was not compared: remove the reason above and compare again."
        return
    yield from _tokenizer(drift)
    yield from _templates(pair, drift)
    if not pinned:
        return
    if drift.grade is Grade.REVISION:
        yield f"Nothing has to be done; {upgrade} moves the pin."
    elif drift.grade is Grade.FILES:
        yield f"Runs may go on. Accept the new files with {upgrade}."
    elif drift.grade is Grade.PROMPTS:
        yield f"A new run: read the difference, accept it with {upgrade}, start from step 0."
    elif drift.grade is Grade.VERDICT:
        yield f"A new run: keep the pin until that is repaired; `template-lint fix {_live(drift)}` shows how."


def _live(drift: Drift) -> str:
    return f"{drift.after.repo}@{drift.after.revision}" if drift.after.repo else drift.after.target


def _tokenizer(drift: Drift) -> Iterator[str]:
    changes = drift.tokenizer.changes if drift.tokenizer else ()
    if _any(changes, _RENUMBERED):
        yield "Stored buffers, caches and checkpoints hold ids of the old numbering: do not mix them with the new."
    if _any(changes, _GROWN):
        yield "Check that the weights of the new revision have a row for every new id before the new files are used."
    if _any(changes, _DECODING) or (drift.tokenizer and drift.tokenizer.decode_differs):
        yield "Decoded text may differ: look at rewards, parsers of tool calls and logs that read it."
    if _any(changes, ("stop-ids",)):
        yield "Sampling stops at other ids: give the sampler those of the revision that the run uses."


def _any(changes: tuple[TokenizerChange, ...], kinds: tuple[str, ...]) -> bool:
    return any(change.kind in kinds for change in changes)


def _templates(pair: Pair, drift: Drift) -> Iterator[str]:
    for template in drift.templates:
        patch = template.patch
        if patch is not None and patch.status == "not-needed":
            yield f"With the new files leave the training template {patch.name} out."
        elif patch is not None and patch.status == "broken":
            other = f"; `template-lint fix {_live(drift)}` makes another" if drift.grade is not Grade.VERDICT else ""
            other = f"; use {patch.instead} instead" if patch.instead else other
            yield f"With the new files do not use the training template {patch.name}{other}."
        elif patch is not None and patch.status == "changed":
            yield f"Keep the copy of {patch.name} that the run began with; `template-lint lock` records the new one."
        elif patch is not None and patch.status == "valid" and drift.grade in (Grade.PROMPTS, Grade.VERDICT):
            yield f"The training template {patch.name} stays right with the new files."
        elif template.fits is not None and template.losses:
            yield f"With the new files use the training template {template.fits} (`template-lint fix {_live(drift)}`)."


def _versions(drift: Drift) -> Iterator[str]:
    names = [name for template in drift.templates for name in template.prompts.names]
    if drift.unchecked:
        yield "Do not trust what was not compared: remove the reason above and compare again."
    if drift.grade not in (Grade.PROMPTS, Grade.VERDICT):
        return
    yield f"Do not change transformers within a run: keep the version it began with ({drift.before.profile})."
    forms = {name.partition("/")[2].partition("[")[0] for name in names}
    if names and forms <= {*_NONE_FORMS, *_KEY_FORMS}:
        what = []
        if forms & set(_NONE_FORMS):
            what.append("leave keys out of messages instead of setting them to None")
        if forms & set(_KEY_FORMS):
            what.append("pass reasoning as reasoning_content")
        yield f"Both versions read the same if you {' and '.join(what)}."
