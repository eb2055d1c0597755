"""Text of a template in the log of a CI step: it is shown, and obeyed by no runner."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from template_lint.model import Finding, Report
from template_lint.report import writer
from template_lint.report.layout.canvas import Canvas
from template_lint.report.layout.escape import defused
from tests.report.samples import SOURCE, file_target, prefix_finding, report, template_report

HOSTILE = [
    "::error::owned",
    "  ::set-output name=x::owned",
    "##[error]owned",
    "a ##[add-mask]owned",
    "%0A::error::owned",
    "\r::error::owned",
    "\n::stop-commands::x",
    "a\u2028::error::b",
]


def runner_commands(log: str) -> list[tuple[str, dict[str, str], str]]:
    """What GitHub's runner would obey, parsed as it does: both styles of command, (name, properties, message)."""
    found = []
    for line in re.split(r"\r\n|\r|\n", log):
        if match := re.match(r"\s*::([^\s:]+)(?: ([^:]*))?::(.*)$", line, re.DOTALL):
            pairs = [pair.partition("=") for pair in (match[2] or "").split(",") if "=" in pair]
            found.append((match[1], {key: _decode(value, True) for key, _, value in pairs}, _decode(match[3], False)))
        elif match := re.search(r"##\[([^\]\s]+)[^\]]*\](.*)$", line, re.DOTALL):
            found.append((match[1], {}, match[2]))
    return found


def _decode(text: str, in_property: bool) -> str:
    codes = {"%0D": "\r", "%0A": "\n", "%25": "%", **({"%3A": ":", "%2C": ","} if in_property else {})}
    return re.sub("%(?:0D|0A|25|3A|2C)", lambda match: codes.get(match[0], match[0]), text)


def hostile_report(text: str) -> Report:
    """A report with ``text`` in every place that text of a template reaches."""
    source = SOURCE.replace("<|", text.replace("\n", " ").replace("\r", " "))
    finding = prefix_finding(source, message=text, remedy=text, scenario=text)
    evidence = {**finding.evidence, "earlier": text, "later": "x" + text, "scenarios": [text]}
    findings: list[Finding] = [finding._replace(evidence=evidence)]
    findings += [prefix_finding(source, message=text, rule=f"TL10{n}", remedy=text) for n in range(2, 8)]
    target = file_target(template_report(*findings, source=source, name=text), name=f"{text}.jinja")
    return report(target._replace(findings=[prefix_finding(place=None, message=text)]))


def written(name: str, subject: Report, columns: int = 100) -> str:
    out = io.StringIO()
    writer(name)(subject, out, canvas=Canvas(width=columns))
    return out.getvalue()


def test_the_parser_of_this_test_finds_commands() -> None:
    assert [name for name, *_ in runner_commands("\n".join(HOSTILE))] == [
        *("error", "set-output", "error", "add-mask", "error", "stop-commands"),
    ]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("columns", [20, 24, 100])
@pytest.mark.parametrize("name", ["text", "concise", "json"])
def test_no_output_holds_a_command(name: str, columns: int, text: str) -> None:
    assert runner_commands(written(name, hostile_report(text), columns)) == []


@given(st.text(st.sampled_from(" :#[]e%\\\n"), max_size=30))
def test_a_defused_line_is_no_command(line: str) -> None:
    safe = "\n".join(map(defused, line.split("\n")))
    assert runner_commands(safe) == []
    assert safe.replace("\\", "") == line.replace("\\", "")


def test_json_says_the_same_as_before() -> None:
    text = "a ##[error]b"
    document = json.loads(written("json", hostile_report(text)))
    assert document["targets"][0]["templates"][0]["findings"][0]["message"] == text
