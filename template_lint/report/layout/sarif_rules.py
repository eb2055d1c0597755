"""The rules as SARIF describes them: their help in text and Markdown, and the properties that GitHub reads."""

from __future__ import annotations

import importlib.metadata
from functools import lru_cache
from typing import Any

from template_lint.model import Severity
from template_lint.rules.base import Rule
from template_lint.rules.page import markdown, own_needs, page, sections, summary
from template_lint.rules.registry import all_rules

LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_PROBLEM = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "recommendation"}
# Of 10. Only for rules about what an attacker could use: GitHub then speaks of a vulnerability.
_SECURITY = {Severity.ERROR: "7.5", Severity.WARNING: "5.0", Severity.INFO: "2.0"}
# What the sandbox refuses, and a prompt that depends on the date, are defects of the safety family, not attacks.
_NO_ATTACK = ("TL502", "TL507")
_MAX_DESCRIPTION = 1024


def descriptors() -> list[dict[str, Any]]:
    """Return the descriptors of all rules, by code: a reader then tells a rule that passed from one that is unknown."""
    return [_descriptor(rule) for rule in all_rules()]


@lru_cache(maxsize=1)
def home() -> str | None:
    """Return the address of the project's repository, from the metadata of the installed package; None without."""
    try:
        entries = importlib.metadata.metadata("template-lint").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    links = {label.strip().lower(): url.strip().rstrip("/") for label, _, url in (e.partition(",") for e in entries)}
    return next((links[label] for label in ("repository", "source", "homepage") if label in links), None)


def _descriptor(rule: type[Rule]) -> dict[str, Any]:
    full = next((text for heading, text in sections(rule) if heading), summary(rule))
    link = {"helpUri": f"{home()}/blob/HEAD/docs/rules/{rule.code}.md"} if home() else {}
    more = f"`template-lint explain {rule.code}` shows examples and how they are reported."
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": _short(summary(rule))},
        "fullDescription": {"text": _short(full.replace("\n", " "))},
        "help": {"text": f"{page(rule)}\n\n{more}", "markdown": f"{markdown(rule)}\n{more}"},
        **link,
        "defaultConfiguration": {"level": LEVEL[rule.severity]},
        "properties": _properties(rule),
    }


def _properties(rule: type[Rule]) -> dict[str, Any]:
    security = rule.code.startswith("TL5") and rule.code not in _NO_ATTACK
    family = rule.__module__.split(".")[-2].partition("_")[2]
    properties: dict[str, Any] = {
        "tags": ["chat-template", family, *own_needs(rule), *(["security"] if security else [])],
        "precision": _precision(rule),
        "problem.severity": _PROBLEM[rule.severity],
    }
    if security:
        properties["security-severity"] = _SECURITY[rule.severity]
    return properties


def _precision(rule: type[Rule]) -> str:
    """Say how sure a finding is: what compares renders has seen it happen, an info is a matter of use."""
    if rule.severity is Severity.INFO:
        return "medium"
    return "very-high" if rule.code.startswith(("TL0", "TL1")) else "high"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_DESCRIPTION else text[: _MAX_DESCRIPTION - 1] + "…"
