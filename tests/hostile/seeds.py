"""The templates that mutants are made of."""

from __future__ import annotations

from template_lint.rules.base import Example
from template_lint.rules.registry import all_rules
from tests.inputs import corpus_if_there


def seeds() -> list[str]:
    """The rules' own examples, and the corpus where it is."""
    own = [example.source for rule in all_rules() for example in rule.examples() if isinstance(example, Example)]
    return own + [path.read_text(encoding="utf-8") for path in corpus_if_there()]
