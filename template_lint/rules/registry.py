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
    return sorted([*_rules_below("tl[0-9]_*"), *_rules_below("tla_*")], key=lambda rule: rule.code)


@lru_cache(maxsize=1)
def template_rules() -> list[type[Rule]]:
    """The rules that are asked of one template at a time, by code. Imports none of the audit's."""
    found = [rule for rule in _rules_below("tl[0-9]_*") if rule.stage == "template"]
    return sorted(found, key=lambda rule: rule.code)


def _rules_below(families: str) -> list[type[Rule]]:
    """The rules of the family folders that match a pattern."""
    found = []
    for package in sorted(_FOLDER.glob(f"{families}/tl[0-9a][0-9][0-9]_*/__init__.py")):
        family, name = package.parent.parent.name, package.parent.name
        module = importlib.import_module(f"template_lint.rules.{family}.{name}")
        classes = [
            value
            for value in vars(module).values()
            if isinstance(value, type) and issubclass(value, Rule) and value.__module__ == module.__name__
        ]
        assert len(classes) == 1, f"{name} must define exactly one rule"
        found.append(classes[0])
    return found


def find_rule(text: str) -> type[Rule]:
    """The rule with this code or name. Raises UsageError with the nearest right one."""
    for rule in all_rules():
        if text.lower() in (rule.code.lower(), rule.name):
            return rule
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
    """Code -> name of every rule, from the names of their folders: no rule is imported."""
    found = {}
    for folder in _FOLDER.glob("tl[0-9a]_*/tl[0-9a][0-9][0-9]_*"):
        code, _, name = folder.name.partition("_")
        if (folder / "__init__.py").is_file():
            found[code.upper()] = name.replace("_", "-")
    return dict(sorted(found.items()))


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


def nearest_rule(text: str) -> str:
    """`` Did you mean TL101?`` for a word that is nearly a code or a name, else nothing."""
    import difflib

    words = [word for pair in rule_names().items() for word in pair]
    nearest = difflib.get_close_matches(text.upper(), words, 1) or difflib.get_close_matches(text.lower(), words, 1)
    return f" Did you mean {nearest[0]}?" if nearest else ""
