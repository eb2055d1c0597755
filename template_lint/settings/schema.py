"""The JSON Schema of a configuration file, made from the table of settings. It gives the reader's verdict on everything
but what needs the folder (paths that must be there) and YAML itself (duplicate keys, aliases).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from template_lint.config import REQUIREMENTS
from template_lint.rules.registry import rule_words
from template_lint.settings.parse import OUTPUT
from template_lint.settings.table import FAIL_ON, IGNORE_KEYS, KEYS, SEVERITIES, TARGET_KEYS, Key, Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT = {"type": "string", "pattern": "\\S"}
_TARGET = {"$ref": "#/$defs/target"}
_RULE = {"$ref": "#/$defs/rule"}
_SEVERITY = {"enum": list(SEVERITIES)}


def schema() -> dict[str, Any]:
    """The schema of template-lint.yaml, and of the table ``[tool.template-lint]``."""
    return {
        "$schema": DIALECT,
        "title": "template-lint",
        "description": "Configuration of template-lint: template-lint.yaml, or [tool.template-lint] in pyproject.toml.",
        **_object(KEYS),
        "$defs": {
            "rule": {"description": "A code, a prefix of codes, or a name of a rule.", "enum": sorted(rule_words())},
            "target": {**_TEXT, "not": {"const": "-"}},
        },
    }


def _object(keys: Sequence[Key], required: Sequence[str] = ()) -> dict[str, Any]:
    described = {key.name: {"description": f"{key.help} Default: {key.default}.", **_value(key)} for key in keys}
    shape: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": described}
    return {**shape, "required": list(required)} if required else shape


def _value(key: Key) -> dict[str, Any]:
    match key.kind:
        case Kind.RULES:
            return _list(_RULE, at_least=1 if key in IGNORE_KEYS else 0)
        case Kind.SEVERITY:
            return _SEVERITY
        case Kind.FAIL_ON:
            return {"enum": list(FAIL_ON)}
        case Kind.SEVERITIES:
            return {"type": "object", "propertyNames": _RULE, "additionalProperties": _SEVERITY}
        case Kind.REQUIREMENTS:
            return _list({"enum": sorted(REQUIREMENTS)})
        case Kind.VERSION:
            return {"anyOf": [_TEXT, {"type": "number"}]}
        case Kind.TARGET:
            return _TARGET
        case Kind.TARGETS:
            return _list({"anyOf": [_TARGET, _object(TARGET_KEYS, ["target"])]})
        case Kind.PATHS | Kind.PATTERNS:
            return _list(_TEXT)
        case Kind.OUTPUTS:
            return _list({"type": "string", "pattern": f"^{OUTPUT.pattern}$"})
        case Kind.BOOL:
            return {"type": "boolean"}
        case Kind.NUMBER:
            return {"type": "integer", "minimum": 0}
        case Kind.IGNORES:
            return _list(_object(IGNORE_KEYS, ["rules", "reason"]))
        case Kind.PATH | Kind.TEXT | Kind.REASON:
            return _TEXT


def _list(item: dict[str, Any], *, at_least: int = 0) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "array", "items": item}
    return {**shape, "minItems": at_least} if at_least else shape
