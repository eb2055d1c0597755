import io
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from template_lint.model import Report, Severity, TargetReport, Verdict
from template_lint.report import junit
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import visible
from tests.report.samples import file_target, full_report, prefix_finding, report, template_report, unchecked
from tests.report.test_injection import HOSTILE, hostile_report, runner_commands, written


def suites(subject: Report) -> list[TestSuite]:
    """What an independent reader of JUnit files makes of the report; its totals must be those that are written."""
    read = JUnitXml.fromstring(written("junit", subject).encode())
    assert isinstance(read, JUnitXml)
    stated = (read.tests, read.failures, read.errors, read.skipped)
    read.update_statistics()
    assert stated == (read.tests, read.failures, read.errors, read.skipped)
    return list(read)


def cases(subject: Report) -> dict[str, TestCase]:
    return {case.name: case for suite in suites(subject) for case in suite}


def only(case: TestCase) -> Failure | Skipped | Error:
    [result] = case.result
    return result


def test_a_suite_has_a_case_for_every_rule() -> None:
    subject = full_report()
    template = subject.targets[0].templates[0]
    checked = ["TL101", "TL103", "TL107", "TL203", "TL002"]
    subject = report(file_target(template._replace(checked=checked)))
    [suite] = suites(subject)
    assert suite.name == "chat_template.jinja"
    found = cases(subject)
    assert list(found) == [
        "verdict",
        "TL002 template-syntax",
        "TL101 tool-prefix",
        "TL102 tool-prefix-tokens",
        "TL103 generation-prompt-prefix",
        "TL107 delta-needs-identity",
        "TL203 tools-ignored",
        *[name for name in found if name.startswith(("TL302", "TL402"))],
    ]
    assert found["verdict"].system_out == "breaks the prefix in tool loops"
    assert found["TL002 template-syntax"].is_passed
    assert found["TL107 delta-needs-identity"].is_passed
    assert "the header of a tool result carries the tool's name" in found["TL107 delta-needs-identity"].system_out
    failure = only(found["TL101 tool-prefix"])
    assert isinstance(failure, Failure)
    assert failure.type == "error"
    assert failure.message.startswith("appending a tool result takes the empty reasoning block out")
    assert failure.text.splitlines()[0] == "chat_template.jinja:3:44: error TL101"
    warning = only(found["TL103 generation-prompt-prefix"])
    assert (type(warning), warning.type) == (Failure, "warning")
    assert only(found["TL102 tool-prefix-tokens"]).message == "not checked: no tokenizer; give --tokenizer"
    hidden = only(found["TL203 tools-ignored"])
    assert (type(hidden), hidden.message) == (Skipped, "1 finding suppressed: inline")


def test_two_findings_of_one_rule_are_one_case() -> None:
    findings = [
        prefix_finding(severity=Severity.WARNING, message="lesser"),
        prefix_finding(message="worse"),
        prefix_finding(message="gone", suppressed="baseline", suppression_reason="known since spring"),
    ]
    failure = only(cases(report(file_target(template_report(*findings))))["TL101 tool-prefix"])
    assert (failure.message, failure.type) == ("worse (and 1 more)", "error")
    assert [line for line in failure.text.splitlines() if line in ("lesser", "worse", "gone")] == [
        "lesser",
        "worse",
        "gone",
    ]
    assert "Suppressed (baseline: known since spring)" in failure.text


def test_what_is_too_mild_does_not_change_its_case() -> None:
    mild = prefix_finding(severity=Severity.INFO, suppressed="min-severity")
    assert cases(report(file_target(template_report(mild, checked=["TL101"]))))["TL101 tool-prefix"].is_passed


def test_what_was_not_checked_is_an_error() -> None:
    error = only(cases(report(unchecked()))["target can be checked"])
    assert (type(error), error.type) == (Error, "gated")
    assert error.message == "not checked: access is restricted. Log in with hf auth login."
    blank = template_report(verdict=Verdict(tito="unrenderable"))
    error = only(cases(report(file_target(blank)))["verdict"])
    assert (type(error), error.message) == (Error, "not checked: the template renders no conversation of ours")
    assert cases(report())["targets"].is_error
    assert cases(report()._replace(excluded=1)) == {}


def test_a_template_that_fails_already_is_not_an_error_too() -> None:
    blank = template_report(prefix_finding(rule="TL002"), verdict=Verdict(tito="unrenderable"))
    assert cases(report(file_target(blank)))["verdict"].is_passed


def test_findings_about_a_target_have_a_suite() -> None:
    target = file_target(template_report())._replace(findings=[prefix_finding(place=None)])
    assert [suite.name for suite in suites(report(target))] == ["chat_template.jinja", "chat_template.jinja"]
    assert only(cases(report(target))["TL101 tool-prefix"]).type == "error"


def test_the_templates_of_a_hub_model_have_names_and_a_commit() -> None:
    templates = [template_report(name="default"), template_report(name="tool_use")]
    hub = TargetReport(target="a/b@main", kind="hub", repo="a/b", revision="d" * 40, templates=templates)
    assert [suite.name for suite in suites(report(hub))] == [
        "a/b@dddddddddddd [default]",
        "a/b@dddddddddddd [tool_use]",
    ]


@pytest.mark.parametrize("text", [*HOSTILE, "]]>&lt;<x y='\"'>", "\x00\x1b\x85\ufffe\ud800\U0001f30a"])
def test_hostile_text_is_text(text: str) -> None:
    subject = hostile_report(text)
    assert runner_commands(written("junit", subject)) == []
    failures = [only(case) for suite in suites(subject) for case in suite if case.name != "verdict"]
    assert {failure.message for failure in failures} == {visible(text)}


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_comes_back_visible(text: str) -> None:
    subject = report(file_target(template_report(prefix_finding(message=text))))
    root = ET.fromstring(written("junit", subject))
    [failure] = root.iter("failure")
    assert failure.get("message") == visible(text)[:499] + "…" * (len(visible(text)) > 500)


def test_a_stream_of_ascii_gets_the_same_document() -> None:
    subject = report(file_target(template_report(prefix_finding(message="港 🌊"))))
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="")
    junit.write(subject, stream, canvas=Canvas())
    stream.flush()
    assert ET.canonicalize(raw.getvalue().decode("ascii")) == ET.canonicalize(written("junit", subject))
    assert "港".encode() not in raw.getvalue()


def test_there_is_no_clock_in_it() -> None:
    document = written("junit", full_report())
    assert document == written("junit", full_report())
    assert not any(word in document for word in ("time=", "timestamp", "hostname"))
