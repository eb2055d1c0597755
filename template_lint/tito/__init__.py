"""Token-in, token-out: the buffer of token ids of a trajectory, what is added to it, and what re-encoding would do.

Names are loaded on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from template_lint.tito.buffer import Buffer
    from template_lint.tito.deltas import Delta, DeltaError, delta

__all__ = ["Buffer", "Delta", "DeltaError", "delta"]

_HOMES = {
    "Buffer": "template_lint.tito.buffer",
    "Delta": "template_lint.tito.deltas",
    "DeltaError": "template_lint.tito.deltas",
    "delta": "template_lint.tito.deltas",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'template_lint.tito' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
