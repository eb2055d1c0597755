"""The user's own conversations: JSON lines with ``messages``, and optionally ``name``, ``tools``, ``kwargs``,
``cuts``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from template_lint.errors import UsageError
from template_lint.scenarios.model import Scenario, natural_cuts

_KEYS = {"name", "title", "messages", "tools", "kwargs", "chat_template_kwargs", "cuts"}


def load_conversations(path: Path) -> list[Scenario]:
    """One scenario per line; blank lines are skipped. Raises UsageError with file and line for anything else."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--conversations {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"--conversations {path}: not UTF-8 at byte {error.start}") from None
    scenarios = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            scenarios.append(_scenario(line, f"{path.name}:{number}"))
    if not scenarios:
        raise UsageError(f"--conversations {path}: no conversation in it. Write one JSON object per line.")
    return scenarios


def _scenario(line: str, where: str) -> Scenario:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise UsageError(f"{where}: not JSON: {error}") from None
    if not isinstance(data, dict) or "messages" not in data:
        raise UsageError(f'{where}: expected an object with "messages" (and optionally "tools", "kwargs", "name").')
    unknown = sorted(set(data) - _KEYS)
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}. Known: {', '.join(sorted(_KEYS))}.")
    messages = data["messages"]
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) and "role" in m for m in messages):
        raise UsageError(f'{where}: "messages" must be a non-empty list of objects with a "role".')
    tools = data.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        raise UsageError(f'{where}: "tools" must be a list of JSON schemas.')
    kwargs = data.get("kwargs") or data.get("chat_template_kwargs") or {}
    if not isinstance(kwargs, dict):
        raise UsageError(f'{where}: "kwargs" must be an object.')
    return Scenario(
        name=str(data.get("name") or where),
        title=str(data.get("title") or "your conversation"),
        messages=messages,
        tools=tools,
        kwargs=kwargs,
        cuts=_cuts(data.get("cuts"), messages, where),
        own=True,
    )


def _cuts(cuts: Any, messages: list[dict[str, Any]], where: str) -> list[int]:
    if cuts is None:
        return natural_cuts(messages)
    if not isinstance(cuts, list) or not all(isinstance(cut, int) and 0 < cut <= len(messages) for cut in cuts):
        raise UsageError(f'{where}: "cuts" must be message counts between 1 and {len(messages)}.')
    return sorted(set(cuts))
