"""docs/outputs/: in every page about an output format, what the linter really writes in it about one example."""

from __future__ import annotations

import functools
import io
import json
from pathlib import Path

from scripts.readme import EXAMPLE, fill_block
from scripts.rule_pages import TRANSFORMERS, WIDTH
from template_lint import check
from template_lint.model import Report
from template_lint.report import formats, writer
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.markdown_text import fenced

_LANGUAGES = {"json": "json", "sarif": "json", "junit": "xml", "markdown": "markdown"}


def output_pages(root: Path) -> dict[Path, str]:
    """Path -> page with its example filled in, for every page that bears the name of a format."""
    folder = root / "docs" / "outputs"
    pages = {folder / f"{name}.md": name for name in formats() if (folder / f"{name}.md").exists()}
    return {
        path: fill_block(path.read_text(encoding="utf-8"), "example", _example(name, root), path.name)
        for path, name in pages.items()
        if "<!-- generated: example -->" in path.read_text(encoding="utf-8")
    }


@functools.cache
def _report(root: Path) -> Report:
    report = check(str(root / EXAMPLE), transformers=TRANSFORMERS, jobs=1, cache=False, offline=True)
    return report._replace(targets=[_under_its_own_name(target) for target in report.targets])


def _under_its_own_name(target):  # type: ignore[no-untyped-def]
    templates = [
        template._replace(file=EXAMPLE, findings=[finding._replace(file=EXAMPLE) for finding in template.findings])
        for template in target.templates
    ]
    files = dict.fromkeys([EXAMPLE], next(iter(target.files.values())))
    return target._replace(target=EXAMPLE, templates=templates, files=files)


def _example(name: str, root: Path) -> str:
    out = io.StringIO()
    writer(name)(_report(root), out, canvas=Canvas(width=WIDTH))
    text = out.getvalue()
    if name == "sarif":
        document = json.loads(text)
        driver = document["runs"][0]["tool"]["driver"]
        driver["rules"] = [rule for rule in driver["rules"] if rule["id"] == "TL101"]
        text = json.dumps(document, indent=2, ensure_ascii=False)
    return fenced(text, _LANGUAGES.get(name, "text"))
