"""The corpus, checked once for all tests of claims about it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding, Report, TemplateReport
from tests.inputs import corpus_dir

OPTIONS = Options(transformers="5.24", cache=False, jobs=2)


class CorpusRun(NamedTuple):
    report: Report

    @property
    def templates(self) -> dict[str, TemplateReport]:
        return {Path(target.target).name: target.templates[0] for target in self.report.targets}

    def of(self, name: str, rule: str) -> list[Finding]:
        return [finding for finding in self.templates[name].findings if finding.rule == rule]


@pytest.fixture(scope="session")
def corpus() -> CorpusRun:
    """The whole corpus, as ``template-lint check`` checks it."""
    return CorpusRun(check([str(corpus_dir())], OPTIONS))


@pytest.fixture(scope="session")
def tool_prefix(corpus: CorpusRun) -> dict[str, list[Finding]]:
    """Template -> its findings of TL101, asked also where the template knows no tools."""
    toolless = [name for name in corpus.templates if corpus.of(name, "TL200")]
    options = OPTIONS._replace(require=frozenset({"tools"}), select=("TL101", "TL200"))
    required = CorpusRun(check([str(corpus_dir() / name) for name in toolless], options))
    runs = {name: required if name in toolless else corpus for name in corpus.templates}
    return {name: run.of(name, "TL101") for name, run in runs.items()}
