"""TemplateFacts -> Prompts: fingerprints of all that a template renders, in text and in token ids. Runs in a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template_lint.facts.fingerprint import digest, prompt_fingerprint, prompt_texts
from template_lint.lock.model import Prompts, ScenarioPrint
from template_lint.scenarios.catalogue import catalogue_version

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts

_SHORT = 12


def prompts_of(facts: TemplateFacts) -> Prompts:
    """The fingerprints of a template that compiles. Where its tokenizer does not load, ``no_tokenizer`` says why."""
    texts = prompt_texts(facts)
    ids: dict[str, Any] | None = None
    if facts.tokenization is not None:
        ids = {
            name: [outcome if isinstance(outcome, dict) else facts.ids(outcome) for outcome in outcomes]
            for name, outcomes in texts.items()
        }
    return Prompts(
        fingerprint=prompt_fingerprint(facts),
        ids=None if ids is None else digest({"catalogue": catalogue_version(), "ids": ids}),
        scenarios={
            name: ScenarioPrint(digest(outcomes)[:_SHORT], None if ids is None else digest(ids[name])[:_SHORT])
            for name, outcomes in texts.items()
        },
        no_tokenizer=facts.no_tokenizer if ids is None else None,
    )
