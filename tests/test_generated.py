"""What is generated is current: the catalogue, the rule pages, and README.md with the output it shows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

if not (ROOT / "scripts" / "generate.py").exists():
    pytest.skip("needs the scripts of a checkout", allow_module_level=True)

sys.path.insert(0, str(ROOT))

from scripts.generate import generated, main  # noqa: E402
from scripts.readme import readme  # noqa: E402
from template_lint.rules.registry import all_rules  # noqa: E402


def test_check_says_what_is_stale(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert main() == 0, capsys.readouterr().out


def test_a_stale_file_fails_the_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    stale = ROOT / "docs" / "rules" / "index.md"
    monkeypatch.setattr("scripts.generate.generated", lambda: {stale: "other text"})
    monkeypatch.setattr("scripts.generate.orphans", lambda wanted: [])
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert main() == 1
    assert capsys.readouterr().out.splitlines()[0] == "stale: docs/rules/index.md"


def test_every_rule_has_a_page() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "rules").glob("TL*.md")}
    assert pages == {rule.code for rule in all_rules()}


def test_no_generated_file_names_a_machine_path() -> None:
    for path, content in generated().items():
        assert not re.search(r"/(tmp|home|root|work)/", content), path


def test_the_readme_needs_its_blocks() -> None:
    with pytest.raises(ValueError, match="has no block <!-- generated: example -->"):
        readme("# nothing", ROOT)


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.relative_to(ROOT)} links to {link}"
