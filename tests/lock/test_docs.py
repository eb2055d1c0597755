"""docs/lock.md describes the lock that is written and the states that are said."""

from __future__ import annotations

import re
from pathlib import Path

from template_lint.lock.checking import State
from template_lint.lock.reading import parse_lock
from template_lint.lock.writing import dumps
from tests.lock.samples import entry, local, lock

PAGE = (Path(__file__).parents[2] / "docs" / "lock.md").read_text(encoding="utf-8")


def test_the_example_is_a_lock() -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    whole = re.sub(r"sha256:([0-9a-f]{4})\.\.\.", lambda match: f"sha256:{match[1] * 16}", text)
    [found] = parse_lock(whole).entries
    assert found.repo == "Qwen/Qwen3-8B" and found.templates[0].patch is not None


def test_every_key_that_is_written_is_explained() -> None:
    text = dumps(lock(entry(), local(), vendor="vendor"))
    written = set(re.findall(r"^(?:- |  |  - |    )?([a-z0-9]+):", text, re.MULTILINE)) - {"models"}
    explained = set(re.findall(r"`([a-z0-9]+)`", "".join(re.findall(r"^\| `.*$", PAGE, re.MULTILINE))))
    assert written <= explained


def test_every_state_is_named() -> None:
    assert all(f"`{state.value}`" in PAGE for state in State)
