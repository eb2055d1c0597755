import importlib.metadata
import io
import json
import re
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.model import Anchor, Finding, Report, Severity, Skipped, TargetReport, TemplateReport, Verdict
from template_lint.report import sarif
from template_lint.report.layout import sarif_rules
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.sarif_results import uri
from template_lint.rules.registry import all_rules
from tests.report.samples import SOURCE, file_target, full_report, prefix_finding, report, template_report, unchecked
from tests.report.test_injection import HOSTILE, hostile_report, runner_commands, written


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def no_remembered_home() -> Iterator[None]:
    sarif_rules.home.cache_clear()
    yield
    sarif_rules.home.cache_clear()


def run_of(subject: Report, name: str = "sarif") -> dict[str, Any]:
    document = json.loads(written(name, subject))
    [run] = document["runs"]
    return dict(run)


def results_of(*findings: Finding, name: str = "sarif", **template: Any) -> list[dict[str, Any]]:
    return list(run_of(report(file_target(template_report(*findings, **template))), name)["results"])


def cut_out(text: str, region: dict[str, Any], column_kind: str) -> str:
    """What a reader of SARIF finds at a region, by its own rules."""
    assert column_kind == "utf16CodeUnits"
    assert region["startLine"] == region["endLine"]
    line = re.split(r"\r\n|\n|\r", text)[region["startLine"] - 1].encode("utf-16-le")
    return line[2 * (region["startColumn"] - 1) : 2 * (region["endColumn"] - 1)].decode("utf-16-le")


def hub_report(*findings: Finding, anchor: Anchor | None = None) -> Report:
    target = TargetReport(target="acme/model@main", kind="hub", repo="acme/model", revision="c" * 40)
    return report(target._replace(templates=[template_report(*findings)], anchor=anchor))


def test_a_result_has_what_readers_need() -> None:
    [result] = results_of(prefix_finding())
    rules = run_of(report(file_target(template_report(prefix_finding()))))["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == "TL101"
    assert result["level"] == "error"
    assert result["message"]["text"].startswith("appending a tool result takes the empty reasoning block out")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "chat_template.jinja", "uriBaseId": "%SRCROOT%"},
                "region": {
                    "startLine": 3,
                    "startColumn": 44,
                    "endLine": 3,
                    "endColumn": 53,
                    "snippet": {"text": "loop.last"},
                },
            }
        }
    ]
    assert result["suppressions"] == []
    assert result["properties"]["scenario"] == "one-call"


def test_severities_are_levels() -> None:
    assert [result["level"] for result in run_of(full_report())["results"]] == ["note", "warning", "error", "warning"]


@pytest.mark.parametrize("before", ["🌊", "{{- '🌊🏴\u200d☠️' }}", "港", "e\u0301"])
def test_the_region_after_an_emoji_is_exactly_the_condition(here: Path, before: str) -> None:
    source = SOURCE.replace("    {%- if message.role", f"{before}    {{%- if message.role")
    (here / "chat_template.jinja").write_text(source, encoding="utf-8")
    condition = "message.role == 'assistant' and loop.last"
    subject = report(file_target(template_report(prefix_finding(source, condition), source=source)))
    run = run_of(subject)
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    text = (here / "chat_template.jinja").read_text(encoding="utf-8")
    assert cut_out(text, region, run["columnKind"]) == region["snippet"]["text"] == condition


@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_region_of_an_embedded_template_is_in_its_json_file(here: Path, ascii_only: bool) -> None:
    source = SOURCE.replace("    {%- if message.role", "🌊 {%- if message.role")
    document = {"bos_token": "🌊", "chat_template": source}
    (here / "tokenizer_config.json").write_text(json.dumps(document, ensure_ascii=ascii_only), encoding="utf-8")
    template = template_report(
        prefix_finding(source, "message.role == 'assistant'", file="tokenizer_config.json"),
        source=source,
        file="tokenizer_config.json",
        pointer="/chat_template",
    )
    run = run_of(report(file_target(template, name="tokenizer_config.json")))
    [result] = run["results"]
    location = result["locations"][0]
    text = (here / "tokenizer_config.json").read_text(encoding="utf-8")
    region = location["physicalLocation"]["region"]
    assert cut_out(text, region, run["columnKind"]) == "message.role == 'assistant'"
    assert region["startLine"] == 1
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "tokenizer_config.json#/chat_template"
    assert "template line 3, column " in result["message"]["text"]


def test_a_hub_finding_stands_on_its_line_in_the_lock() -> None:
    [result] = run_of(hub_report(prefix_finding(), anchor=Anchor("locks/template-lint.lock", 7)))["results"]
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "locks/template-lint.lock", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 7},
            },
            "logicalLocations": [
                {"fullyQualifiedName": "acme/model@cccccccccccc chat_template.jinja", "kind": "resource"}
            ],
        }
    ]
    assert "In acme/model@cccccccccccc chat_template.jinja, template line 3" in result["message"]["text"]
    assert result["properties"]["revision"] == "c" * 40


def test_a_hub_finding_without_a_lock_has_no_file() -> None:
    [result] = run_of(hub_report(prefix_finding()))["results"]
    assert [list(location) for location in result["locations"]] == [["logicalLocations"]]


def test_an_upload_has_a_file_and_a_line_for_every_result() -> None:
    outside = file_target(template_report(prefix_finding()), name="../elsewhere/t.jinja")
    inside = file_target(template_report(prefix_finding(), prefix_finding(place=None, rule="TL003")))
    subject = report(*hub_report(prefix_finding()).targets, outside, inside)
    assert len(run_of(subject)["results"]) == 4
    run = run_of(subject, "code-scanning")
    assert len(run["results"]) == 2
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "chat_template.jinja"
        assert place["region"]["startLine"] in (1, 3)
    notes = [
        (note["level"], note["associatedRule"]["id"], note["message"]["text"].split("\n")[1])
        for note in run["invocations"][0]["toolExecutionNotifications"]
        if note["descriptor"]["id"] == "finding-without-file"
    ]
    line = "template line 3, column 44: {%- if message.role == 'assistant' and loop.last %}"
    assert notes == [
        ("error", "TL101", f"In acme/model@cccccccccccc chat_template.jinja, {line}"),
        ("error", "TL101", f"In ../elsewhere/t.jinja, {line}"),
    ]
    assert "automationDetails" not in run


def test_suppressed_findings_are_marked_and_not_uploaded() -> None:
    findings = [
        prefix_finding(suppressed="inline", suppression_reason="the engine closes it"),
        prefix_finding(suppressed="baseline"),
        prefix_finding(suppressed="config", suppression_reason="frozen model"),
        prefix_finding(),
    ]
    assert [result["suppressions"] for result in results_of(*findings)] == [
        [{"kind": "inSource", "status": "accepted", "justification": "inline: the engine closes it"}],
        [{"kind": "external", "status": "accepted", "justification": "baseline"}],
        [{"kind": "external", "status": "accepted", "justification": "config: frozen model"}],
        [],
    ]
    assert len(results_of(*findings, name="code-scanning")) == 1


def fingerprints(*findings: Finding, source: str = SOURCE) -> list[str]:
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in results_of(*findings, source=source)]


def test_a_fingerprint_stays_when_lines_move_and_names_one_finding() -> None:
    moved = "{# one more line #}\n" + SOURCE.replace("    {%- if", "  {%- if")
    [before] = fingerprints(prefix_finding())
    assert re.fullmatch(r"[0-9a-f]{16}:1", before)
    assert fingerprints(prefix_finding(moved), source=moved) == [before]
    spaced = SOURCE.replace("' and loop", "'  and\tloop")
    condition = "message.role == 'assistant' and loop.last"
    assert fingerprints(prefix_finding(cause=condition)) == fingerprints(
        prefix_finding(spaced, condition.replace(" and ", "  and\t")), source=spaced
    )
    twice = fingerprints(prefix_finding(), prefix_finding())
    assert twice == [before, before.replace(":1", ":2")]
    others = [{"rule": "TL104"}, {"scenario": "x"}, {"cause": "message.role"}]
    assert len({before, *(fingerprints(prefix_finding(**changes))[0] for changes in others)}) == 4


def test_a_fingerprint_outlives_a_new_revision_of_a_hub_model() -> None:
    old = hub_report(prefix_finding())
    new = report(old.targets[0]._replace(revision="d" * 40, target="acme/model@v2"))
    assert run_of(old)["results"][0]["partialFingerprints"] == run_of(new)["results"][0]["partialFingerprints"]


def test_every_rule_is_described() -> None:
    driver = run_of(report(file_target(template_report())))["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in all_rules()]
    rule = next(rule for rule in driver["rules"] if rule["id"] == "TL101")
    assert rule["shortDescription"]["text"] == "Appending a tool result rewrites text that was already rendered."
    assert "\n## Why it matters\n" in rule["help"]["markdown"]
    assert "Why it matters: the ids" in rule["help"]["text"]
    assert rule["properties"] == {
        "tags": ["chat-template", "prefix", "tools"],
        "precision": "very-high",
        "problem.severity": "error",
    }
    for rule in driver["rules"]:
        assert len(rule["fullDescription"]["text"]) <= 1024
        attack = rule["id"].startswith("TL5") and rule["id"] not in ("TL502", "TL507")
        assert ("security-severity" in rule["properties"]) is attack
        assert ("security" in rule["properties"]["tags"]) is attack


def test_rules_link_to_their_pages_where_the_package_says_where_it_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = Message()
    metadata["Project-URL"] = "Repository, https://example.org/team/template-lint/"
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: metadata)
    driver = run_of(report(file_target(template_report())))["tool"]["driver"]
    assert driver["informationUri"] == "https://example.org/team/template-lint"
    assert driver["rules"][0]["helpUri"].startswith("https://example.org/team/template-lint/blob/HEAD/docs/rules/TL")


def test_without_an_address_there_is_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Message:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "metadata", missing)
    driver = run_of(report(file_target(template_report())))["tool"]["driver"]
    assert "informationUri" not in driver
    assert not any("helpUri" in rule for rule in driver["rules"])


def test_what_was_not_checked_is_no_success() -> None:
    blank = template_report(verdict=Verdict(tito="unrenderable"), name="tool_use")
    [invocation] = run_of(report(unchecked(), file_target(blank)))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == [
        "not checked: acme/gated: access is restricted. Log in with hf auth login.",
        "not checked: chat_template.jinja [tool_use]: the template renders no conversation of ours",
    ]
    assert run_of(report())["invocations"][0]["executionSuccessful"] is False
    assert run_of(full_report())["invocations"][0]["executionSuccessful"] is True


def test_a_rule_that_was_not_asked_is_a_note() -> None:
    skipped = [Skipped("TL102", "no tokenizer; give --tokenizer TARGET")]
    templates = [template_report(skipped=skipped), template_report(skipped=skipped, name="b")]
    [note] = run_of(report(file_target(*templates)))["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "note"
    assert note["associatedRule"]["id"] == "TL102"
    assert note["message"]["text"] == "TL102 was not asked of 2 templates: no tokenizer; give --tokenizer TARGET"


def test_a_log_is_bounded_and_says_what_it_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 3)
    severities = [Severity.INFO, Severity.ERROR, Severity.WARNING, Severity.INFO, Severity.ERROR]
    run = run_of(report(file_target(template_report(*[prefix_finding(severity=each) for each in severities]))))
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]
    [note] = run["invocations"][0]["toolExecutionNotifications"]
    assert (note["level"], note["message"]["text"]) == ("warning", "left out to stay within 3 results: 2 infos")


def test_what_is_too_mild_is_counted_and_not_listed() -> None:
    mild = prefix_finding(severity=Severity.INFO, suppressed="min-severity")
    run = run_of(report(file_target(template_report(mild, prefix_finding()))))
    assert [result["level"] for result in run["results"]] == ["error"]
    [note] = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "1 finding below --min-severity"


def test_long_messages_are_cut() -> None:
    [result] = results_of(prefix_finding(message="x" * 10_000))
    assert len(result["message"]["text"]) == 4000
    assert result["message"]["text"].endswith("…")


@pytest.mark.parametrize("text", [*HOSTILE, "[click](https://example.org)", "\ud800\x00"])
@pytest.mark.parametrize("name", ["sarif", "code-scanning"])
def test_hostile_text_is_text(name: str, text: str) -> None:
    document = written(name, hostile_report(text))
    assert runner_commands(document) == []
    for result in json.loads(document)["runs"][0]["results"]:
        assert "](" not in result["message"]["text"]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_path_is_a_uri_and_comes_back(path: str) -> None:
    assert unquote(uri(path), errors="strict") == path
    assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})*", uri(path))


def test_an_absolute_path_does_not_reach_the_log(here: Path) -> None:
    (here / "a b").mkdir()
    name = str(here / "a b" / "100%.jinja")
    document = written("sarif", report(file_target(template_report(prefix_finding(file=name), file=name), name=name)))
    assert str(here) not in document
    assert '"a%20b/100%25.jinja"' in document


def test_the_same_report_gives_the_same_bytes() -> None:
    assert written("sarif", full_report()) == written("sarif", full_report())


def test_a_stream_of_ascii_gets_the_same_document() -> None:
    subject = report(file_target(template_report(prefix_finding(message="港 🌊"))))
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="")
    sarif.write(subject, stream, canvas=Canvas())
    stream.flush()
    assert json.loads(raw.getvalue()) == json.loads(written("sarif", subject))


def test_findings_about_a_target_are_results() -> None:
    target = file_target(TemplateReport(*template_report()))._replace(
        findings=[prefix_finding(place=None)], anchor=Anchor("template-lint.yaml", 2)
    )
    [result] = run_of(report(target))["results"]
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
