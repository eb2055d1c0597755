"""The rules, by the index of what each is and needs; and what the user selects of them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from template_lint.errors import UsageError
from template_lint.rules.base import Rule

INDEX = Path(__file__).with_name("index.json")
_LOOK_ALIKES = str.maketrans("OIL", "011")


class Entry(NamedTuple):
    """What is known of a rule before it is imported. ``package`` is its place below ``template_lint.rules``."""

    code: str
    package: str
    stage: str
    needs: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name, as users write it."""
        return self.package.partition(".")[2].partition("_")[2].replace("_", "-")

    @property
    def rule(self) -> type[Rule]:
        """The rule itself; imported on first use."""
        return rule_in(self.package)


@lru_cache(maxsize=1)
def entries() -> list[Entry]:
    """Every rule of every stage, by code. Made by ``scripts/generate.py`` from the folders on disk."""
    index = json.loads(INDEX.read_text(encoding="utf-8"))
    return [Entry(code, entry["package"], entry["stage"], tuple(entry["needs"])) for code, entry in index.items()]


@cache
def rule_in(package: str) -> type[Rule]:
    """The one rule that a package ``FAMILY.tlNNN_name`` defines."""
    module = importlib.import_module(f"template_lint.rules.{package}")
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
    ]
    assert len(classes) == 1, f"{package} must define exactly one rule"
    return classes[0]


def all_rules() -> list[type[Rule]]:
    """Every rule of every stage, by code; all imported."""
    return [entry.rule for entry in entries()]


@lru_cache(maxsize=1)
def template_entries() -> list[Entry]:
    """The rules that are asked of one template at a time, by code."""
    return [entry for entry in entries() if entry.stage == "template"]


def find_rule(text: str) -> type[Rule]:
    """The rule with this code or name. Raises UsageError with the nearest right one."""
    for entry in entries():
        if text.lower() in (entry.code.lower(), entry.name):
            return entry.rule
    raise UsageError(f"unknown rule {text!r}.{nearest_rule(text)} `template-lint rules` lists them all.")


def select(
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    *,
    extend_select: Iterable[str] = (),
    extend_ignore: Iterable[str] = (),
) -> list[str]:
    """The codes to run: those selected (all, where nothing is) and added, less those ignored.

    Each word is a code, a code prefix (``TL1``) or a name. Raises UsageError for a word that matches no rule, for one
    that is both selected and ignored, and where no rule is left.
    """
    selected, ignored = list(select), list(ignore)
    both = sorted({word.upper() for word in selected} & {word.upper() for word in ignored})
    if both:
        raise UsageError(f"{both[0]} is both selected and ignored. Leave one out.")
    chosen = codes_of(selected) if selected else set(rule_names())
    left = (chosen | codes_of(extend_select)) - codes_of([*ignored, *extend_ignore])
    if not left:
        raise UsageError("every rule that is selected is also ignored: there is nothing to check. Ignore less.")
    return sorted(left)


def codes_of(words: Iterable[str]) -> set[str]:
    """The codes that words (codes, prefixes, names) stand for. Raises UsageError for a word that matches no rule."""
    return {code for word in words for code in _matching(word)}


@lru_cache(maxsize=1)
def rule_names() -> dict[str, str]:
    """Code -> name of every rule. No rule is imported."""
    return {entry.code: entry.name for entry in entries()}


@lru_cache(maxsize=1)
def rule_words() -> frozenset[str]:
    """Every word that names rules as a configuration file must write it: codes, their prefixes, names."""
    codes = rule_names()
    return frozenset([code[:length] for code in codes for length in range(2, len(code) + 1)] + list(codes.values()))


def _matching(word: str) -> list[str]:
    text = word.strip()
    found = [code for code, name in rule_names().items() if name == text.lower()]
    if not found and text.upper().startswith("TL"):
        found = [code for code in rule_names() if code.startswith(text.upper())]
    if not found:
        raise UsageError(f"unknown rule {word!r}.{nearest_rule(text)} `template-lint rules` lists them all.")
    return found


def nearest_rule(text: str, *, prefixes: bool = False) -> str:
    """`` Did you mean TL101?`` for a word that is nearly a code or a name (or a prefix of codes), else nothing.

    A letter in place of the digit that it looks like (``TL1O1``) is the nearest mistake.
    """
    import difflib

    words = sorted(rule_words()) if prefixes else [word for pair in rule_names().items() for word in pair]
    alike = [word for word in words if _as_digits(word) == _as_digits(text)]
    nearest = (
        alike or difflib.get_close_matches(text.upper(), words, 1) or difflib.get_close_matches(text.lower(), words, 1)
    )
    return f" Did you mean {nearest[0]}?" if nearest else ""


def _as_digits(text: str) -> str:
    """A word in capitals, with the digits that its letters look like."""
    return text.upper().translate(_LOOK_ALIKES)
