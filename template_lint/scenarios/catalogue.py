"""Loads the built-in catalogue. The YAML is the source; the JSON beside it is generated and loads fast."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from template_lint.scenarios.model import Scenario, natural_cuts

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((_FOLDER / "catalogue.json").read_text(encoding="utf-8"))
    return data


def catalogue_version() -> int:
    """Version of the catalogue; part of every prompt fingerprint."""
    version: int = _data()["version"]
    return version


@lru_cache(maxsize=1)
def load_catalogue() -> list[Scenario]:
    """All built-in scenarios, in catalogue order. Treat the messages as read-only: they are shared."""
    data = _data()
    scenarios = []
    for entry in data["scenarios"]:
        messages = [data["turns"][turn] for turn in entry["turns"]]
        scenarios.append(
            Scenario(
                name=entry["name"],
                title=entry["title"],
                messages=messages,
                tools=data["tools"] if entry["tools"] else None,
                kwargs={},
                cuts=natural_cuts(messages),
                think=entry.get("think", False),
            )
        )
    return scenarios


def catalogue_tools() -> list[dict[str, Any]]:
    """The tools that scenarios with ``tools=`` offer."""
    tools: list[dict[str, Any]] = _data()["tools"]
    return tools


def expand_yaml(text: str) -> str:
    """The JSON text for a catalogue in YAML (anchors resolved, nothing else changed)."""
    import yaml

    return json.dumps(yaml.safe_load(text), ensure_ascii=False, indent=1) + "\n"
