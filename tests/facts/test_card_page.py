"""docs/card.md explains every key of the capability card, and shows one as it is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from template_lint.cli.support.program import program
from template_lint.facts.capabilities import capabilities_of
from tests.facts.helper import facts
from tests.facts.test_capabilities import REASONED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "card.md").read_text(encoding="utf-8")
REFUSES = "{% for c in m.tool_calls or [] %}{{ raise_exception('no') if c.id | length != 9 }}{% endfor %}{{ m.role"
SWITCHED = "{{ '<think>' if enable_thinking is defined and not enable_thinking }}"


def keys(card: Any) -> set[str]:
    """The keys of the card and of what it holds."""
    if isinstance(card, dict):
        return card.keys() | {name for value in card.values() for name in keys(value)}
    return {name for value in card for name in keys(value)} if isinstance(card, list) else set()


def explained() -> dict[str, str]:
    """Key -> its row."""
    return {row.split("`")[1]: row for row in re.findall(r"^\| `.*$", PAGE, re.MULTILINE)}


def test_every_key_has_a_row() -> None:
    assert list(explained()) == list(capabilities_of(facts(REASONED)))


def test_every_key_within_is_named() -> None:
    card = capabilities_of(facts((REASONED + SWITCHED).replace("{{ m.role", REFUSES, 1)))
    assert card["call_ids"]["refused"] and card["call_shapes"] and card["switch_effects"]
    for name, value in card.items():
        assert all(f"`{inner}`" in explained()[name] for inner in keys(value)), name


def test_the_example_is_what_is_printed(monkeypatch: Any) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["check", "examples/fixed.jinja", "--transformers", "5.24", "--no-cache", "--card"]
    printed = CliRunner().invoke(program, arguments, prog_name="template-lint").output
    [example] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert example.startswith("what it can render\n")
    assert example in printed
