"""What became of the training template: still a drop-in, no longer needed, or no longer proven for the new template."""

from __future__ import annotations

from template_lint.facts import TemplateFacts
from template_lint.lock.drift.model import PatchState
from template_lint.patches.index import digest, find_entry, read_source
from template_lint.patches.matching import is_drop_in, match_behaviour, match_source
from template_lint.patches.training import needed


def patch_state(after: TemplateFacts, name: str, sha256: str | None) -> PatchState:
    """The state of the training template ``name`` for the template of ``after``.

    ``sha256`` is the digest of the training template that was in use, where that is known: the library may hold
    another version of it by now. Renders up to a few seconds.
    """
    entry = find_entry(name)
    if entry is None:
        return PatchState(name, "unknown", f"this version of the library has no training template {name}")
    training = read_source(name)
    changed = sha256 is not None and sha256.removeprefix("sha256:") != digest(training)
    if after.compile_error is not None:
        return PatchState(name, "broken", f"{name} cannot stand for a template that does not compile")
    matched = match_source(after.source)
    if matched is not None and matched[0].name == name:
        return _valid(name, "it was made for this template", changed)
    if after.source == training or not needed(after, name):
        return PatchState(name, "not-needed", f"{name} is no longer needed: the template has become right by itself")
    if is_drop_in(after, training, entry):
        return _valid(name, "it is proven for the new template", changed)
    other = match_behaviour(after) if matched is None else matched[0]
    instead = other.name if other is not None else None
    hint = f"; {instead} is proven for it" if instead else ""
    return PatchState(name, "broken", f"{name} no longer proves: it is no drop-in for the new template{hint}", instead)


def _valid(name: str, why: str, changed: bool) -> PatchState:
    if changed:
        sentence = f"{name} still fits ({why}), but the library now holds another version of it than the one pinned"
        return PatchState(name, "changed", sentence)
    return PatchState(name, "valid", f"{name} is still right: {why}")
