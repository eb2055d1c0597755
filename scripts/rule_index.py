"""Makes template_lint/rules/index.json: what each rule is and needs, so that a check imports only the rules it asks.

A rule is a package ``tlNNN_name`` in a family's folder ``tlN_family`` (``tlaNN_name`` in ``tla_audit``) of
template_lint/rules that defines one class.
"""

from __future__ import annotations

import json
from pathlib import Path

from template_lint.rules.registry import rule_in


def rule_index(root: Path) -> str:
    """The text of the index, by code."""
    # git leaves the folder of a rule that was renamed, with its __pycache__: a package has an __init__.py.
    folders = [path.parent for path in (root / "template_lint" / "rules").glob("tl?_*/tl*_*/__init__.py")]
    index = {}
    for folder in sorted(folders, key=lambda folder: folder.name):
        package = f"{folder.parent.name}.{folder.name}"
        rule = rule_in(package)
        assert folder.name == f"{rule.code}_{rule.name}".lower().replace("-", "_"), f"{folder} holds {rule.code}"
        index[rule.code] = {"package": package, "stage": rule.stage, "needs": list(rule.needs)}
    return json.dumps(index, indent=1) + "\n"
