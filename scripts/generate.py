"""Regenerate every generated file, or with --check say which one is stale (exit 1)."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from template_lint.scenarios.catalogue import expand_yaml  # noqa: E402


def generated() -> dict[Path, str]:
    """Path -> the content it should have."""
    catalogue = ROOT / "template_lint" / "scenarios" / "catalogue.yaml"
    return {catalogue.with_suffix(".json"): expand_yaml(catalogue.read_text(encoding="utf-8"))}


def main() -> int:
    """Write or check; returns the exit code."""
    check = "--check" in sys.argv[1:]
    stale = []
    for path, content in generated().items():
        if path.exists() and path.read_text(encoding="utf-8") == content:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    for path in stale:
        print(f"{'stale' if check else 'wrote'}: {path}")
    if check and stale:
        print("run: python scripts/generate.py")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
