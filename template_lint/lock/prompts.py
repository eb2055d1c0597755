"""TemplateFacts -> Prompts: fingerprints of all that a template renders, in text and in token ids. Runs in a worker."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from template_lint.lock.model import Prompts, ScenarioPrint
from template_lint.scenarios.catalogue import catalogue_version

if TYPE_CHECKING:
    from template_lint.facts import TemplateFacts

_SHORT = 12


def prompts_of(facts: TemplateFacts) -> Prompts:
    """The fingerprints of a template that compiles. Where its tokenizer does not load, ``no_tokenizer`` says why."""
    texts: dict[str, Any] = {
        name: [outcome.text if outcome.ok else {"error": outcome.error} for outcome in outcomes]
        for name, outcomes in facts.final_prompts.items()
    }
    ids: dict[str, Any] | None = None
    if facts.tokenization is not None:
        ids = {
            name: [outcome if isinstance(outcome, dict) else facts.ids(outcome) for outcome in outcomes]
            for name, outcomes in texts.items()
        }
    return Prompts(
        fingerprint=facts.prompt_fingerprint,
        ids=None if ids is None else _digest({"catalogue": catalogue_version(), "ids": ids}),
        scenarios={
            name: ScenarioPrint(_digest(outcomes)[:_SHORT], None if ids is None else _digest(ids[name])[:_SHORT])
            for name, outcomes in texts.items()
        },
        no_tokenizer=facts.no_tokenizer if ids is None else None,
    )


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
