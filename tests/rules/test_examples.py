"""Every example that lies beside a rule: the bad ones are found by that rule, the good ones are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from template_lint import check
from template_lint.model import Severity, TargetReport
from template_lint.rules.base import Example, FolderExample, Rule, write_example
from template_lint.rules.registry import all_rules

# What these rules find is missing from the template, or lies in the prompt as a whole: there is no line to point at.
PLACELESS = {
    "TL001/bad.json",
    "TL001/bad_only_tool_use.json",
    "TL003/bad_old_copy",
    "TL003/bad_replaced_list",
    "TL102/bad",
    "TL103/bad_tokens",
    "TL105/bad.jinja",
    "TL107/bad.jinja",
    "TL107/bad_call_id.jinja",
    "TL108/bad_after_tool.jinja",
    "TL108/bad_always_open.jinja",
    "TL108/bad_no_effect.jinja",
    "TL109/bad_empty_thinking.jinja",
    "TL109/bad_space.jinja",
    "TL200/bad.jinja",
    "TL201/bad_arguments.jinja",
    "TL201/bad_call.jinja",
    "TL201/bad_second_call.jinja",
    "TL202/bad.jinja",
    "TL203/bad_ignored.jinja",
    "TL203/bad_system_only.jinja",
    "TL203/bad_unless_system.jinja",
    "TL204/bad_beside_a_call.jinja",
    "TL204/bad_reasoning.jinja",
    "TL204/bad_role.jinja",
    "TL210/bad.jinja",
    "TL211/bad.jinja",
    "TL310/bad",
    "TL401/bad.jinja",
    "TL505/bad",
    "TL508/bad_growth.jinja",
    "TL508/bad_output.jinja",
}

NEEDS_PARSER = {"TL208/bad_parser"}
"""Only the parser of the installed transformers finds these."""


class Case(NamedTuple):
    rule: type[Rule]
    example: Example | FolderExample

    @property
    def name(self) -> str:
        return f"{self.rule.code}/{self.example.name}"


def _cases() -> Iterator[Case]:
    for rule in all_rules():
        for example in rule.examples():
            yield Case(rule, example)


CASES = {case.name: case for case in _cases()}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TargetReport]:
    """All examples in one run, as a user would check them: all rules, in workers."""
    root = tmp_path_factory.mktemp("examples")
    paths = []
    for case in CASES.values():
        (root / case.rule.code).mkdir(exist_ok=True)
        paths.append(write_example(case.example, root / case.rule.code))
    report = check(paths, transformers="5.24", cache=False, offline=True)
    return dict(zip(CASES, report.targets, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_example(name: str, reports: dict[str, TargetReport]) -> None:
    case, report = CASES[name], reports[name]
    if name in NEEDS_PARSER:
        pytest.importorskip("transformers.utils.chat_parsing", reason="transformers 5.13 or newer")
    assert report.error is None
    findings = [f for template in report.templates for f in template.findings if f.rule == case.rule.code]
    if case.example.name.startswith("good"):
        assert not findings
        return
    assert findings
    assert all(finding.message and finding.remedy for finding in findings)
    assert name in PLACELESS or all(finding.place is not None for finding in findings)


def test_good_examples_are_good(reports: dict[str, TargetReport]) -> None:
    """A fix that people copy has no error of any other rule either."""
    errors = [
        f"{name}: {finding.rule} {finding.message}"
        for name, report in reports.items()
        if CASES[name].example.name.startswith("good")
        for template in report.templates
        for finding in template.findings
        if finding.severity is Severity.ERROR
    ]
    assert not errors


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_shows_what_it_finds(rule: type[Rule]) -> None:
    if rule.stage not in ("template", "curation"):
        assert rule.transcript()
        return
    names = [example.name for example in rule.examples()]
    assert any(name.startswith("bad") for name in names)
    assert any(name.startswith("good") for name in names)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if isinstance(case.example, Example)])
def test_examples_are_short(name: str) -> None:
    example = CASES[name].example
    assert isinstance(example, Example)
    assert len(example.source.splitlines()) <= 32


def test_a_written_example_is_a_target(tmp_path: Path) -> None:
    assert write_example(Example("bad.json", "{}"), tmp_path) == tmp_path / "bad.json" / "tokenizer_config.json"
    folder = write_example(FolderExample("good", {"chat_template.jinja": "x"}), tmp_path)
    assert (folder / "chat_template.jinja").read_text(encoding="utf-8") == "x"
