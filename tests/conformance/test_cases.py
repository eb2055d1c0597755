"""Public bug reports on the templates that show them: found by the rule of their kind, and controls stay quiet."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import transformers
import yaml

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding
from template_lint.rules.registry import all_rules
from tests.inputs import corpus_dir, tokenizer_dir

pytestmark = pytest.mark.skipif(
    transformers.__version__ < "5", reason="each case names the version it is about: once is enough"
)


class Case(NamedTuple):
    id: str
    source: str | None
    template: str
    rule: str
    expected: str
    says: str = ""
    transformers: str = "5.24"
    tokenizer: str | None = None
    eos_token: str | None = None
    require: str | None = None

    @property
    def question(self) -> tuple[str, str, str | None, str | None, str | None]:
        """Cases with the same question are one check."""
        return self.template, self.transformers, self.tokenizer, self.eos_token, self.require


class Result(NamedTuple):
    """What the rule said: its findings that ``says`` picks, or why it was not asked."""

    findings: list[Finding]
    skipped: str | None

    @property
    def word(self) -> str:
        return "found" if self.findings else "skipped" if self.skipped else "clean"


def load_cases() -> list[Case]:
    text = (Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8")
    return [Case(**entry) for entry in yaml.safe_load(text)]


CASES = load_cases()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """Every case's template, checked once per question with the rules that are asked of it."""
    folder = corpus_dir()
    known = {rule.code for rule in all_rules()}
    found = {}
    for question in dict.fromkeys(case.question for case in CASES):
        template, version, tokenizer, eos_token, require = question
        cases = [case for case in CASES if case.question == question]
        options = Options(
            select=tuple(sorted({case.rule for case in cases} & known)) or ("TL001",),
            transformers=version,
            tokenizer=_tokenizer(tokenizer, eos_token, tmp_path_factory) if tokenizer else None,
            require=frozenset({require}) if require else frozenset(),
            cache=False,
            jobs=1,
            offline=True,
        )
        [report] = check([str(folder / template)], options).targets[0].templates
        skipped = {skip.rule: skip.reason for skip in report.skipped}
        for case in cases:
            findings = [f for f in report.findings if f.rule == case.rule and case.says in told(f)]
            reason = skipped.get(case.rule) if case.rule in known else "there is no such rule yet"
            found[case.id] = Result(findings, reason)
    return found


def _tokenizer(name: str, eos_token: str | None, folders: pytest.TempPathFactory) -> str:
    """The folder of a tokenizer, or a copy of it that names another end of text."""
    folder = tokenizer_dir(name)
    if eos_token is None:
        return str(folder)
    copy = folders.mktemp(name)
    (copy / "tokenizer.json").symlink_to(folder / "tokenizer.json")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    (copy / "tokenizer_config.json").write_text(json.dumps({**config, "eos_token": eos_token}), encoding="utf-8")
    return str(copy)


def told(finding: Finding) -> str:
    return finding.message + json.dumps(finding.evidence, ensure_ascii=False, default=str)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case, results: dict[str, Result]) -> None:
    result = results[case.id]
    if case.rule not in {rule.code for rule in all_rules()}:
        pytest.skip(result.skipped or "")
    assert result.word == case.expected, result.skipped


def test_table(results: dict[str, Result], capsys: pytest.CaptureFixture[str]) -> None:
    """Prints case, rule and outcome; run with -s to read it."""
    with capsys.disabled():
        sys.stdout.write("\n" + "\n".join(table(results)) + "\n")
    assert Counter(case.expected for case in CASES) == {"found": 82, "clean": 6}
    assert len({case.id for case in CASES}) == len(CASES)


def table(results: dict[str, Result]) -> Iterator[str]:
    for case in CASES:
        result = results[case.id]
        mark = "ok  " if result.word == case.expected else "FAIL"
        where = result.findings[0].place if result.findings else None
        line = f"line {where.line}" if where else ""
        yield f"{mark} {case.rule} {case.expected:5} {case.id:52} {case.template[:44]:44} {line}"
    right = Counter((case.expected, results[case.id].word == case.expected) for case in CASES)
    for expected, noun in (("found", "reports found"), ("clean", "controls clean")):
        yield f"{right[expected, True]} of {right[expected, True] + right[expected, False]} {noun}"
