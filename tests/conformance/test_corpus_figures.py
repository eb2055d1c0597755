"""docs/rules/corpus.json says what a fresh run says, and the pages say what it says."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest
import transformers

from template_lint.model import Finding, Severity
from tests.conformance.conftest import CorpusRun
from tests.inputs import corpus_dir, tokenizer_dir

ROOT = Path(__file__).parents[2]

if not (ROOT / "scripts" / "corpus_figures.py").exists():
    pytest.skip("needs the scripts of a checkout", allow_module_level=True)

sys.path.insert(0, str(ROOT))

from scripts.corpus_figures import (  # noqa: E402
    FITTING,
    check_with_tokenizers,
    figures,
    findings_per_failing,
    load,
    rows,
    stale,
    table,
    templates_of,
)

pytestmark = pytest.mark.skipif(
    transformers.__version__ < "5", reason="the figures are about the 5.24 profile: once is enough"
)


def test_the_figures_are_those_of_a_fresh_run(corpus: CorpusRun) -> None:
    for tokenizer in FITTING:
        tokenizer_dir(tokenizer)  # fetched, or the test is skipped
    fresh = figures(templates_of(corpus.report), check_with_tokenizers(corpus_dir().parent, jobs=2))
    assert "\n".join(stale(load(), fresh)) == "", "run: python scripts/corpus_figures.py, python scripts/generate.py"


def test_another_figure_is_stale() -> None:
    changed = copy.deepcopy(load())
    changed["text"]["rules"]["TL101"]["templates"] += 1
    changed["profile"] = "4.57"
    lines = list(stale(load(), changed))
    assert [line.partition(":")[0] for line in lines] == ["TL101", "profile"]


def test_conversations_with_one_cause_are_one_finding(corpus: CorpusRun) -> None:
    by_rule = {row.rule: row for row in rows(templates_of(corpus.report))}
    tool_prefix = by_rule["TL101"]
    assert tool_prefix.shown > 10 * tool_prefix.findings
    assert all(row.templates <= row.findings <= row.shown for row in by_rule.values())
    assert all(row.told <= row.findings for row in by_rule.values())


def test_a_defect_that_two_rules_see_is_told_once(corpus: CorpusRun) -> None:
    told = {row.rule: row.told / row.findings for row in rows(templates_of(corpus.report))}
    assert {code for code, share in told.items() if share < 1} == {"TL103", "TL104", "TL105", "TL205", "TL209", "TL701"}


def test_a_failing_template_has_few_findings(corpus: CorpusRun) -> None:
    templates = templates_of(corpus.report)
    assert findings_per_failing(templates, Severity.WARNING) < 6
    assert findings_per_failing(templates, Severity.ERROR) < 2
    assert list(table(templates))[-1].endswith("from error on")


def test_templates_without_tools_get_no_finding_about_tools(corpus: CorpusRun) -> None:
    tool_rules = {f"TL{number}" for number in (101, 102, 106, 107, 201, 202, 203, 208, 210, 307)}
    found: list[Finding] = []
    for name, template in corpus.templates.items():
        if corpus.of(name, "TL200"):
            found += [finding for finding in template.findings if finding.rule in tool_rules]
    assert found == []


def test_a_page_says_its_figure() -> None:
    figure = load()["text"]["rules"]["TL101"]
    page = (ROOT / "docs" / "rules" / "TL101.md").read_text(encoding="utf-8")
    assert f"In the corpus: {figure['templates']} of 786 templates ({figure['errors']} errors)" in page
    assert "- <https://github.com/huggingface/trl/issues/6124> (`Qwen-Qwen3-0.6B`" in page
