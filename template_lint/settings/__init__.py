"""The configuration file: where it is, what may stand in it, and how the command line goes over it.

``read_settings(FILE)`` reads one; ``find_settings()`` the nearest one upwards from the current folder. ``table`` says
what there is to set, for the reader, the command line, the JSON Schema (``schema.json``) and docs/configuration.md.
"""

from __future__ import annotations

from template_lint.settings.files import find_settings, read_settings
from template_lint.settings.merge import Settings, Value

__all__ = ["Settings", "Value", "find_settings", "read_settings"]
