"""The fingerprint of a template: what it prints for the catalogue, as one digest."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from template_lint.facts.prefix import wants_generation_prompt
from template_lint.scenarios.catalogue import catalogue_version

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.rendering.template import Outcome


def final_prompts(facts: TemplateFacts) -> dict[str, list[Outcome]]:
    """Scenario -> its prompts as a rollout meets them: the whole conversation, and that of its first cut.

    The user's own conversations are left out: these prompts stand for the template.
    """
    prompts = {}
    for scenario in facts.scenarios:
        if not scenario.own:
            count = len(scenario.messages)
            outcomes = [facts.render_scenario(scenario, count, wants_generation_prompt(scenario, count))]
            outcomes += [facts.render_scenario(scenario, cut, True) for cut in scenario.cuts[:1]]
            prompts[scenario.name] = outcomes
    return prompts


def prompt_texts(facts: TemplateFacts) -> dict[str, list[Any]]:
    """Scenario -> its final prompts, each as text or as ``{"error": exception class}``."""
    return {
        name: [outcome.text if outcome.ok else {"error": outcome.error} for outcome in outcomes]
        for name, outcomes in final_prompts(facts).items()
    }


def prompt_fingerprint(facts: TemplateFacts) -> str:
    """The digest of ``prompt_texts`` with the catalogue's version."""
    return digest({"catalogue": catalogue_version(), "prompts": prompt_texts(facts)})


def digest(value: Any) -> str:
    """sha256 over the canonical JSON of ``value``."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
