"""Regenerate every generated file, or with --check say which one is stale (exit 1)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULE_PAGES = ROOT / "docs" / "rules"
sys.path.insert(0, str(ROOT))

from scripts.configuration_page import configuration_page, schema_text  # noqa: E402
from scripts.drift_examples import drift_examples  # noqa: E402
from scripts.output_pages import output_pages  # noqa: E402
from scripts.patch_index import patch_index  # noqa: E402
from scripts.readme import readme  # noqa: E402
from scripts.rule_index import rule_index  # noqa: E402
from scripts.rule_pages import rule_pages  # noqa: E402
from template_lint.rules.registry import INDEX  # noqa: E402
from template_lint.scenarios.catalogue import expand_yaml  # noqa: E402


def generated() -> dict[Path, str]:
    """Path -> the content it should have."""
    catalogue = ROOT / "template_lint" / "scenarios" / "catalogue.yaml"
    front = ROOT / "README.md"
    return {
        catalogue.with_suffix(".json"): expand_yaml(catalogue.read_text(encoding="utf-8")),
        INDEX: rule_index(ROOT),
        ROOT / "templates_patched" / "index.yaml": patch_index(ROOT / "templates_patched"),
        ROOT / "template_lint" / "settings" / "schema.json": schema_text(),
        ROOT / "docs" / "configuration.md": configuration_page(ROOT),
        front: readme(front.read_text(encoding="utf-8"), ROOT),
        **drift_examples(ROOT),
        **output_pages(ROOT),
        **{RULE_PAGES / name: content for name, content in rule_pages().items()},
    }


def orphans(wanted: dict[Path, str]) -> list[Path]:
    """Pages of rules that are no more."""
    return [path for path in sorted(RULE_PAGES.glob("*.md")) if path not in wanted]


def main() -> int:
    """Write or check; returns the exit code."""
    check = "--check" in sys.argv[1:]
    stale = []
    if not check:
        INDEX.write_text(rule_index(ROOT), encoding="utf-8")  # all that follows reads it
        for path, content in drift_examples(ROOT).items():  # the pages of their rules quote them
            path.write_text(content, encoding="utf-8")
    wanted = generated()
    for path in orphans(wanted):
        stale.append(path.relative_to(ROOT))
        if not check:
            path.unlink()
    for path, content in wanted.items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    for path in stale:
        print(f"{'stale' if check else 'brought up to date'}: {path}")
    if check and stale:
        print("run: python scripts/generate.py")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
