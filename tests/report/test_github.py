import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.model import Anchor, BaselineUse, Severity, TargetReport, Verdict
from template_lint.report.github import SHOWN, Command, escape_data, escape_property
from tests.report.samples import (
    SOURCE,
    file_target,
    full_report,
    prefix_finding,
    report,
    template_report,
    unchecked,
)
from tests.report.test_injection import HOSTILE, hostile_report, runner_commands, written


def test_findings_become_annotations_worst_first() -> None:
    commands = runner_commands(written("github", full_report()))
    assert [(name, properties["title"]) for name, properties, _ in commands] == [
        ("error", "TL101 tool-prefix"),
        ("warning", "TL103 generation-prompt-prefix"),
        ("notice", "TL107 delta-needs-identity"),
    ]
    _, properties, message = commands[0]
    assert properties == {
        "file": "chat_template.jinja",
        "line": "3",
        "endLine": "3",
        "col": "44",
        "endColumn": "53",
        "title": "TL101 tool-prefix",
    }
    assert message == (
        "appending a tool result takes the empty reasoning block out of the turn that made the call\n"
        "Fix: Write the reasoning block the same way for every assistant turn; do not ask loop.last.\n"
        "Seen in: one-call, two-rounds, parallel-calls, +1 more"
    )


def test_the_last_line_is_the_summary_and_no_command() -> None:
    assert written("github", full_report()).splitlines()[-1] == (
        "template-lint: checked 1 template: 1 error, 1 warning, 1 info; 1 finding suppressed (inline); 3 rules skipped "
        "(transformers 5.24)"
    )


def test_notes_stand_before_the_summary() -> None:
    subject = full_report()._replace(baseline=BaselineUse("##[error]x.json", stale=1))
    output = written("github", subject)
    assert output.splitlines()[-2].startswith("template-lint: 1 finding of #\\#[error]x.json is there no more")
    assert len(runner_commands(output)) == 3


def test_only_the_worst_ten_are_shown_and_the_rest_is_counted() -> None:
    severities = [Severity.INFO] * 4 + [Severity.WARNING] * 8 + [Severity.ERROR] * 3
    findings = [prefix_finding(severity=severity) for severity in severities]
    commands = runner_commands(written("github", report(file_target(template_report(*findings)))))
    assert [name for name, *_ in commands] == ["error"] * 3 + ["warning"] * 7 + ["notice"]
    assert commands[-1][2].startswith("5 more findings of template-lint")


def test_no_level_has_more_annotations_than_github_shows() -> None:
    findings = [prefix_finding(severity=Severity.INFO)] * 30
    commands = runner_commands(written("github", report(file_target(template_report(*findings)), unchecked())))
    notices = [message for name, _, message in commands if name == "notice"]
    assert len(notices) <= SHOWN
    assert notices[-1].startswith(f"{30 - len(notices) + 1} more findings")


def test_what_was_not_checked_is_an_error_of_its_own() -> None:
    blank = template_report(verdict=Verdict(tito="unrenderable"))
    targets = [unchecked(f"acme/model{n}") for n in range(12)]
    commands = runner_commands(written("github", report(*targets, file_target(blank))))
    assert [(name, properties) for name, properties, _ in commands] == [
        ("error", {"title": "template-lint could not check everything"})
    ]
    lines = commands[0][2].split("\n")
    assert lines[0] == "acme/model0: access is restricted. Log in with hf auth login."
    assert lines[-1] == "and 3 more"


def test_a_hub_model_is_annotated_where_the_lock_names_it() -> None:
    template = template_report(prefix_finding())
    hub = TargetReport(target="acme/model", kind="hub", repo="acme/model", revision="c" * 40, templates=[template])
    [[_, properties, message]] = runner_commands(
        written("github", report(hub._replace(anchor=Anchor("template-lint.lock", 7))))
    )
    assert properties == {"file": "template-lint.lock", "line": "7", "title": "TL101 tool-prefix"}
    assert message.split("\n")[1] == (
        "In acme/model@cccccccccccc chat_template.jinja, template line 3, column 44: "
        "{%- if message.role == 'assistant' and loop.last %}"
    )
    [[_, properties, _]] = runner_commands(written("github", report(hub)))
    assert properties == {"title": "TL101 tool-prefix"}


def test_a_file_outside_the_repository_is_named_but_not_annotated() -> None:
    outside = file_target(template_report(prefix_finding()), name="../x/t.jinja")
    [[_, properties, message]] = runner_commands(written("github", report(outside)))
    assert "file" not in properties
    assert "In ../x/t.jinja, template line 3" in message


def test_a_range_over_lines_has_no_columns() -> None:
    finding = prefix_finding(cause="loop.last %}\n        {{-")
    [[_, properties, _]] = runner_commands(written("github", report(file_target(template_report(finding)))))
    assert (properties["line"], properties["endLine"]) == ("3", "4")
    assert "col" not in properties


@pytest.mark.parametrize("text", [*HOSTILE, "a,title=b:c%2Cd\n::error::e"])
def test_hostile_text_does_nothing_but_annotate(text: str) -> None:
    subject = hostile_report(text)
    output = written("github", subject)
    commands = runner_commands(output)
    assert len(commands) == 8
    assert {name for name, *_ in commands} == {"error"}
    assert all(
        set(properties) <= {"file", "line", "endLine", "col", "endColumn", "title"} for _, properties, _ in commands
    )
    assert all(re.fullmatch(r"TL1\d\d tool-prefix", properties["title"]) for _, properties, _ in commands)
    assert len(output.splitlines()) == 9


def test_text_that_looks_escaped_is_shown_as_it_is() -> None:
    finding = prefix_finding(message="%0A::error::x ##[error]y", source=SOURCE)
    [[_, _, message]] = runner_commands(written("github", report(file_target(template_report(finding)))))
    assert message.split("\n")[0] == "%0A::error::x ##[error]y"


@given(st.text(), st.text(), st.sampled_from(["error", "warning", "notice"]))
def test_any_text_comes_back_from_the_runner(title: str, message: str, level: str) -> None:
    assert runner_commands(str(Command(level, title, message))) == [(level, {"title": title}, message)]


@given(st.text(st.sampled_from("%0AD25:,\r\n")))
def test_escaped_text_has_no_character_with_a_meaning(text: str) -> None:
    assert not set(escape_data(text)) & set("\r\n")
    assert not set(escape_property(text)) & set("\r\n:,")


def test_long_messages_are_cut() -> None:
    finding = prefix_finding(message="x" * 100_000)
    assert len(written("github", report(file_target(template_report(finding))))) < 5000
