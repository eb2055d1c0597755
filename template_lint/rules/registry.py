"""Finds the rules on disk and resolves what the user selects."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from template_lint.errors import UsageError
from template_lint.rules.base import Rule

_FOLDER = Path(__file__).parent


@lru_cache(maxsize=1)
def all_rules() -> list[type[Rule]]:
    """Every rule of every stage, by code. A rule is a package ``tlNNN_name`` in a family folder ``tlN_family``
    (``tlaNN_name`` in ``tla_audit``) that defines one class.
    """
    found = []
    for package in sorted(_FOLDER.glob("tl[0-9a]_*/tl[0-9a][0-9][0-9]_*/__init__.py")):
        family, name = package.parent.parent.name, package.parent.name
        module = importlib.import_module(f"template_lint.rules.{family}.{name}")
        classes = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
        ]
        assert len(classes) == 1, f"{name} must define exactly one rule"
        found.append(classes[0])
    return sorted(found, key=lambda rule: rule.code)


@lru_cache(maxsize=1)
def template_rules() -> list[type[Rule]]:
    """The rules that are asked of one template at a time, by code."""
    return [rule for rule in all_rules() if rule.stage == "template"]


def find_rule(text: str) -> type[Rule]:
    """The rule with this code or name. Raises UsageError with the nearest right one."""
    for rule in all_rules():
        if text.lower() in (rule.code.lower(), rule.name):
            return rule
    raise UsageError(f"unknown rule {text!r}.{_nearest(text)} `template-lint rules` lists them all.")


def select(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[str]:
    """The codes to run: those selected (all, where nothing is) less those ignored.

    Each word is a code, a code prefix (``TL1``) or a name. Raises UsageError for a word that matches no rule, and for
    one that is both selected and ignored.
    """
    selected, ignored = list(select), list(ignore)
    both = sorted({word.upper() for word in selected} & {word.upper() for word in ignored})
    if both:
        raise UsageError(f"{both[0]} is both selected and ignored. Leave one out.")
    chosen = {code for word in selected for code in _matching(word)} if selected else {r.code for r in all_rules()}
    return sorted(chosen - {code for word in ignored for code in _matching(word)})


def _matching(word: str) -> list[str]:
    text = word.strip()
    found = [rule.code for rule in all_rules() if rule.name == text.lower()]
    if not found and text.upper().startswith("TL"):
        found = [rule.code for rule in all_rules() if rule.code.startswith(text.upper())]
    if not found:
        raise UsageError(f"unknown rule {word!r}.{_nearest(text)} `template-lint rules` lists them all.")
    return found


def _nearest(text: str) -> str:
    import difflib

    words = [word for rule in all_rules() for word in (rule.code, rule.name)]
    nearest = difflib.get_close_matches(text.upper(), words, 1) or difflib.get_close_matches(text.lower(), words, 1)
    return f" Did you mean {nearest[0]}?" if nearest else ""
