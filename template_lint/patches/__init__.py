"""Training templates that are proven drop-ins, and the proof.

``training_template`` finds one for a tokenizer, a snapshot or a text; ``prove`` asks every law of a pair of templates.
Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from template_lint.patches.pair import sibling
    from template_lint.patches.proof import Expectation, Proof, prove
    from template_lint.patches.training import Need, TrainingTemplate, needed, training_template

__all__ = ["Expectation", "Need", "Proof", "TrainingTemplate", "needed", "prove", "sibling", "training_template"]

_HOMES = {
    "sibling": "template_lint.patches.pair",
    "Expectation": "template_lint.patches.proof",
    "Proof": "template_lint.patches.proof",
    "prove": "template_lint.patches.proof",
    "Need": "template_lint.patches.training",
    "TrainingTemplate": "template_lint.patches.training",
    "needed": "template_lint.patches.training",
    "training_template": "template_lint.patches.training",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'template_lint.patches' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
