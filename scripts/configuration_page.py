"""docs/configuration.md and the JSON Schema: both from the table of settings."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from template_lint.settings.schema import schema
from template_lint.settings.table import IGNORE_KEYS, KEYS, TARGET_KEYS, Key, Kind


def schema_text() -> str:
    """The content of template_lint/settings/schema.json."""
    return json.dumps(schema(), indent=2) + "\n"


def configuration_page(root: Path) -> str:
    """The reference: what scripts/configuration.md says, and a section for each key."""
    text = (root / "scripts" / "configuration.md").read_text(encoding="utf-8")
    return text.replace("<!-- keys -->\n", "\n\n".join(_section(key) for key in KEYS) + "\n")


def _section(key: Key) -> str:
    parts = [f"### {key.name}", _fill(f"{key.help} Default: {key.default}.{' ' + key.more if key.more else ''}")]
    parts.append(f"```yaml\n{key.name}: {key.example}\n```")
    if key.kind is Kind.TARGETS:
        rows = ["| key | what | default |", "| --- | --- | --- |"]
        rows += [f"| `{part.name}` | {part.help} | {part.default} |" for part in TARGET_KEYS]
        names = " and ".join(f"`{part.name}`" for part in IGNORE_KEYS)
        parts += ["\n".join(rows), _fill(f"Each entry of `ignore` has {names}; both are required.")]
    else:
        parts.append(f"On the command line: `{_option(key)}`.")
    return "\n\n".join(parts)


def _option(key: Key) -> str:
    if key.kind is Kind.BOOL:
        return f"--{key.name}` or `--no-{key.name}"
    return f"--{key.name} {key.metavar or key.example}"


def _fill(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)
