"""What the page of a rule says about the world: its figure in the corpus, and the public reports that it finds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from scripts.corpus_figures import FIGURES, load

_CASES = Path(__file__).resolve().parent.parent / "tests" / "conformance" / "cases.yaml"
_WORDS = {"errors": "error", "warnings": "warning", "infos": "info"}


def corpus_lines(code: str) -> list[str]:
    """What the rule finds in the corpus, as sentences; empty where it cannot be asked of a template alone."""
    lines = []
    for part, what in (("text", "templates"), ("tokens", "templates with a tokenizer that fits")):
        whole = _figures()[part]
        if (figure := whole["rules"].get(code)) is None:
            continue
        line = f"In the corpus: {figure['templates']} of {whole['templates']} {what}{_severities(figure)}."
        if figure["asked"] < whole["templates"]:
            line += f" The question makes sense for {figure['asked']} of them."
        lines.append(line)
    return lines


def corpus_cell(code: str) -> str:
    """The same as one cell of a table: ``81`` of the corpus, ``4 of 18`` of the templates with a tokenizer."""
    for part in ("text", "tokens"):
        whole = _figures()[part]
        if code in whole["rules"]:
            number = whole["rules"][code]["templates"]
            return f"{number}" if part == "text" else f"{number} of {whole['templates']}"
    return ""


def corpus_size() -> int:
    """How many templates the corpus has."""
    size: int = _figures()["text"]["templates"]
    return size


def tokenizer_templates() -> int:
    """How many of them are checked with a tokenizer."""
    size: int = _figures()["tokens"]["templates"]
    return size


def public_reports(code: str) -> list[str]:
    """Addresses of public reports of what this rule finds, each with the templates of the corpus that show it."""
    found: dict[str, list[str]] = {}
    for case in _cases():
        if case["rule"] == code and case["expected"] == "found" and case["source"]:
            names = found.setdefault(case["source"], [])
            name = f"`{case['template'].removesuffix('.jinja')}`"
            if name not in names:
                names.append(name)
    return [f"- <{source}> ({', '.join(names)})" for source, names in found.items()]


def _severities(figure: dict[str, int]) -> str:
    counted = [f"{figure[key]} {word}{'s' if figure[key] != 1 else ''}" for key, word in _WORDS.items() if figure[key]]
    return f" ({', '.join(counted)})" if counted else ""


@functools.cache
def _figures() -> dict[str, Any]:
    if FIGURES.exists():
        return load()
    return {part: {"templates": 0, "rules": {}} for part in ("text", "tokens")}


@functools.cache
def _cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = yaml.safe_load(_CASES.read_text(encoding="utf-8"))
    return cases
