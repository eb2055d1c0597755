"""Every output format has a page in docs/outputs, and the help names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from template_lint.cli.support.program import program
from template_lint.report import formats

PAGES = Path(__file__).parent.parent / "docs" / "outputs"

if not PAGES.exists():
    pytest.skip("needs the documentation of a checkout", allow_module_level=True)


def test_every_format_has_a_page() -> None:
    assert sorted(path.stem for path in PAGES.glob("*.md")) == sorted([*formats(), "index"])
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in index and f"({name}.md)" in index for name in formats())


def test_the_help_of_check_names_every_format() -> None:
    text = " ".join(CliRunner().invoke(program, ["check", "--help"]).output.split())
    assert all(name in text for name in formats())


def test_the_page_about_concise_shows_one_line_per_finding() -> None:
    page = (PAGES / "concise.md").read_text(encoding="utf-8")
    example = page.split("```text\n")[1].split("\n```")[0]
    assert all(line.startswith("examples/broken.jinja:") for line in example.splitlines())
