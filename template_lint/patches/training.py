"""``training_template()``: the training template for a tokenizer, a snapshot or a template text; and whether it is
still needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from template_lint.errors import TemplateSelectionError, UsageError
from template_lint.facts import TemplateFacts
from template_lint.patches.index import Entry, find_entry, read_source
from template_lint.patches.lookup import patch_by_model
from template_lint.patches.matching import MatchedBy, match_behaviour, match_source
from template_lint.patches.pair import Pair
from template_lint.patches.proof import LAWS, ROLES, Status, ask
from template_lint.rendering.profiles import resolve_profile
from template_lint.snapshot.model import Snapshot
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS, special_tokens

_LAWS_OF_FIX = {
    "markers": ("mask",),
    "mask": ("mask", "mask-end"),
    "arguments": ("arguments",),
    "null-content": ("null-content",),
}


@dataclass(frozen=True, kw_only=True)
class TrainingTemplate:
    """A training template for some chat template: its text, how it was found, and what the library knows about it.

    Pass ``kwargs`` to apply_chat_template with it.
    """

    name: str
    source: str
    matched_by: MatchedBy
    entry: Entry

    @property
    def kwargs(self) -> Mapping[str, Any]:
        """Template kwargs to pass with it."""
        return self.entry.kwargs


@dataclass(frozen=True, kw_only=True)
class Need:
    """Which fixes of a training template the original still lacks, in a sentence. Empty ``fixes``: it is obsolete."""

    fixes: tuple[str, ...]
    reason: str

    def __bool__(self) -> bool:
        return bool(self.fixes)


def training_template(
    model: Any, *, chat_template: str | None = None, transformers: str | None = None, by_behaviour: bool = True
) -> TrainingTemplate | None:
    """The training template of the library for ``model``, or None.

    ``model`` is a tokenizer (anything with ``get_chat_template()``), a Snapshot or the text of a chat template;
    ``chat_template`` is used in place of the model's own. A copy with other bytes is found where it is the same
    program written otherwise, or (with ``by_behaviour``, up to a few seconds, in this process) where the proof says
    that the training template is a drop-in for it under ``transformers`` (None: the installed version). Raises
    TemplateSelectionError where the model has no chat template.
    """
    source, variables = _source_of(model, transformers, chat_template)
    matched = match_source(source)
    if matched is not None:
        entry, by = matched
        return TrainingTemplate(name=entry.name, source=read_source(entry.name), matched_by=by, entry=entry)
    if not by_behaviour:
        return None
    facts = TemplateFacts(source, resolve_profile(transformers), variables=variables)
    found = None if facts.compile_error is not None else match_behaviour(facts)
    if found is None:
        return None
    return TrainingTemplate(
        name=found.name, source=read_source(found.name), matched_by=MatchedBy.BEHAVIOUR, entry=found
    )


def needed(facts: TemplateFacts, name: str) -> Need:
    """Whether the template of ``facts`` still needs the training template ``name``, and for which of its fixes.

    Raises UsageError for an unknown name.
    """
    entry = find_entry(name)
    if entry is None:
        raise UsageError(f"no training template {name!r}. template-lint patches lists them.")
    lacking = [kind for kind in dict.fromkeys(fix.kind for fix in entry.fixes) if not _has(facts, kind, entry)]
    if not lacking:
        return Need(fixes=(), reason="the template has become right by itself; the training template is obsolete")
    return Need(fixes=tuple(lacking), reason=f"the template still lacks: {', '.join(lacking)}")


def obsolete(facts: TemplateFacts) -> str | None:
    """The training template that this Hub model no longer needs, because its own template has become right; or None.

    Asked of a template that is neither a known original nor the training template itself.
    """
    repo = facts.snapshot.repo if facts.snapshot is not None else None
    name = patch_by_model(repo) if repo else None
    if name is None or match_source(facts.source) is not None or read_source(name) == facts.source:
        return None
    return None if needed(facts, name).fixes else name


def _has(facts: TemplateFacts, kind: str, entry: Entry) -> bool:
    """Whether a template holds by itself the laws that a fix is for."""
    pair = Pair(facts, facts, frozenset(entry.stable_roles) & ROLES)
    laws = _LAWS_OF_FIX.get(kind, (*[f"prefix-{role}" for role in entry.stable_roles], "delta-history"))
    return all(ask(law, pair, stop=True).status is Status.HOLDS for law in laws if law in LAWS)


def _source_of(model: Any, transformers: str | None, override: str | None) -> tuple[str, dict[str, Any]]:
    if isinstance(model, str):
        return override or model, dict(PLACEHOLDER_TOKENS)
    if isinstance(model, Snapshot):
        if not model.templates and override is None:
            raise TemplateSelectionError(model.selection_error or f"{model.target.text} has no chat template")
        tokens = special_tokens(model, resolve_profile(transformers).version)
        return override or model.templates[0].source, tokens or dict(PLACEHOLDER_TOKENS)
    try:
        return override or str(model.get_chat_template()), dict(getattr(model, "special_tokens_map", {}))
    except ValueError as error:
        raise TemplateSelectionError(f"the tokenizer has no chat template: {error}") from error
    except AttributeError:
        raise UsageError(f"expected a tokenizer, a snapshot or a text, not {type(model).__name__}.") from None
