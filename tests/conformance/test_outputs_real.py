"""The outputs for CI against what reads them: the official schema of SARIF, and a real template with its tokenizer."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, FormatChecker
from junitparser import JUnitXml

import template_lint
from template_lint.model import Anchor, Report, TargetReport
from tests import inputs
from tests.report.samples import file_target, full_report, prefix_finding, report, template_report, unchecked
from tests.report.test_github import runner_commands
from tests.report.test_injection import HOSTILE, hostile_report, written
from tests.report.test_sarif import cut_out

QWEN3 = "Qwen-Qwen3-0.6B.jinja"


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """The folder of the run, and the report on Qwen3 with its tokenizer."""
    folder = tmp_path_factory.mktemp("repository")
    shutil.copy(inputs.corpus_dir() / QWEN3, folder / "chat_template.jinja")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tokenizer = str(inputs.tokenizer_dir("qwen3"))
        found = template_lint.check(
            "chat_template.jinja", tokenizer=tokenizer, transformers="5.24", jobs=1, cache=False, offline=True
        )
    return folder, found


def hub(anchor: Anchor | None) -> Report:
    target = TargetReport(target="acme/model", kind="hub", repo="acme/model", revision="c" * 40, anchor=anchor)
    return report(target._replace(templates=[template_report(prefix_finding())]))


def problems(document: dict[str, Any]) -> list[str]:
    schema = json.loads(inputs.sarif_schema().read_text(encoding="utf-8"))
    assert schema["id"].endswith("/errata01/os/schemas/sarif-schema-2.1.0.json")
    validator = Draft4Validator(schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", ["sarif", "code-scanning"])
@pytest.mark.parametrize(
    "subject",
    [
        full_report(),
        report(),
        report(unchecked(), file_target(template_report())),
        hub(None),
        hub(Anchor("template-lint.lock", 7)),
        *map(hostile_report, HOSTILE),
    ],
)
def test_sarif_is_valid(name: str, subject: Report) -> None:
    assert problems(json.loads(written(name, subject))) == []


def test_the_validator_finds_what_is_wrong() -> None:
    document = json.loads(written("sarif", full_report()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    document["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(problems(document)) == 2


def test_sarif_of_qwen3(qwen3: tuple[Path, Report]) -> None:
    folder, found = qwen3
    document = json.loads(written("sarif", found))
    assert problems(document) == []
    [run] = document["runs"]
    first = next(result for result in run["results"] if result["ruleId"] == "TL101")
    region = first["locations"][0]["physicalLocation"]["region"]
    source = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    assert cut_out(source, region, run["columnKind"]) == "loop.last or (not loop.last and reasoning_content)"
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(prints)) == len(prints) == len(found.findings)


def test_an_embedded_template_of_a_real_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(inputs.tokenizer_dir("qwen3") / "tokenizer_config.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    found = template_lint.check("tokenizer_config.json", transformers="5.24", jobs=1, cache=False, offline=True)
    [run] = json.loads(written("sarif", found))["runs"]
    text = (tmp_path / "tokenizer_config.json").read_text(encoding="utf-8")
    spots = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    regions = [spot["region"] for spot in spots if "region" in spot]  # some findings blame no line
    conditions = {json.loads(f'"{cut_out(text, region, run["columnKind"])}"') for region in regions}
    places = [finding.place for finding in found.findings if finding.place is not None]
    source = found.targets[0].templates[0].source
    assert len(regions) == len(places) > 0
    assert conditions == {source[place.offset : place.end_offset] for place in places}
    assert {region["startLine"] for region in regions} == {
        next(number for number, line in enumerate(text.splitlines(), 1) if '"chat_template"' in line)
    }


def test_junit_of_qwen3(qwen3: tuple[Path, Report]) -> None:
    read = JUnitXml.fromstring(written("junit", qwen3[1]).encode())
    [suite] = list(read)
    template = qwen3[1].targets[0].templates[0]
    failing = {finding.rule for finding in template.findings if finding.severity.value != "info"}
    assert suite.failures == len(failing)
    assert suite.skipped == len(template.skipped)
    assert suite.tests == 1 + len(template.checked) + len(template.skipped)


def test_annotations_of_qwen3(qwen3: tuple[Path, Report]) -> None:
    commands = runner_commands(written("github", qwen3[1]))
    findings = [properties for _, properties, _ in commands if properties["title"].startswith("TL")]
    assert {properties["file"] for properties in findings} == {"chat_template.jinja"}
    assert commands[0][:2] == (
        "error",
        {
            "file": "chat_template.jinja",
            "line": "40",
            "endLine": "40",
            "col": "20",
            "endColumn": "70",
            "title": "TL101 tool-prefix",
        },
    )


@pytest.mark.parametrize("name", ["text", "concise", "json", "sarif", "code-scanning", "junit", "github", "markdown"])
def test_no_output_names_a_folder_of_this_machine(name: str, qwen3: tuple[Path, Report]) -> None:
    document = written(name, qwen3[1])
    assert str(qwen3[0]) not in document
    assert document == written(name, qwen3[1])


def test_outputs_for_a_corpus_stay_within_the_limits_of_github(qwen3: tuple[Path, Report]) -> None:
    """As many templates as the corpus has, each with all that is wrong with Qwen3."""
    [target] = qwen3[1].targets
    many = report(*(target._replace(target=f"models/{number}/chat_template.jinja") for number in range(786)))
    page = written("markdown", many)
    assert len(page.encode()) < 1 << 20
    left = (786 - 50) * len(target.templates[0].findings)
    assert f"**Not told here: {left} findings in 736 more templates.**" in page
    log = written("code-scanning", many).encode()
    assert len(gzip.compress(log)) < 10_000_000
    [run] = json.loads(log)["runs"]
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]
    assert len(set(prints)) == len(prints) == 786 * len(target.templates[0].findings)
    commands = runner_commands(written("github", many))
    assert [name for name, *_ in commands] == ["error"] * 10 + ["notice"]


def test_the_page_on_qwen3_leads_from_the_verdict_to_the_command(qwen3: tuple[Path, Report]) -> None:
    lines = written("markdown", qwen3[1]).splitlines()
    assert lines[0] == "## ❌ 2 errors in 1 template"
    assert "template-lint fix chat_template.jinja" in lines[:16]
    assert "#### error TL101 tool-prefix, line 40" in lines[:20]
    assert any(
        line.startswith("40 | ") and "loop.last or (not loop.last and reasoning_content)" in line for line in lines
    )
