"""template-lint: a linter and CI gate for Hugging Face chat templates.

``check`` judges targets, ``render`` mirrors apply_chat_template. Names are loaded on first use, so that importing the
package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template_lint.version import __version__

if TYPE_CHECKING:
    from template_lint.api import check
    from template_lint.errors import TemplateLintError
    from template_lint.gating import gate
    from template_lint.model import Finding, Report
    from template_lint.rendering.api import Rendering, render

__all__ = ["Finding", "Rendering", "Report", "TemplateLintError", "__version__", "check", "gate", "render"]

_HOMES = {
    "check": "template_lint.api",
    "gate": "template_lint.gating",
    "render": "template_lint.rendering.api",
    "Rendering": "template_lint.rendering.api",
    "Finding": "template_lint.model",
    "Report": "template_lint.model",
    "TemplateLintError": "template_lint.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'template_lint' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
