"""Ignores that stand in templates: what they hide, and what TL901 says about those that hide nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint import check
from template_lint.model import Finding, Report, TemplateReport

# TL101 has a place here (loop.last), TL203 has none, and TL200 is not there.
SOURCE = """\
{%- for message in messages %}
    {{- '<|' ~ message.role ~ '|>' ~ (message.content or '') }}
    {%- for call in message.tool_calls or [] %}{{- call.function | tojson }}{%- endfor %}
    {%- if loop.last %}{{- '<|end|>' }}{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
"""
LINE = "    {%- if loop.last"


def run(tmp_path: Path, source: str, **options: object) -> Report:
    path = tmp_path / "chat_template.jinja"
    path.write_text(source, encoding="utf-8")
    return check(path, transformers="5.24", cache=False, jobs=1, **options)


def template(report: Report) -> TemplateReport:
    [target] = report.targets
    [found] = target.templates
    return found


def of(report: Report, code: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == code]


def cut(source: str, finding: Finding) -> str:
    assert finding.place is not None
    return source[finding.place.offset : finding.place.end_offset]


def test_the_template_has_what_these_tests_need(tmp_path: Path) -> None:
    report = run(tmp_path, SOURCE)
    [tool_prefix], [ignored] = of(report, "TL101"), of(report, "TL203")
    assert tool_prefix.place is not None
    assert tool_prefix.place.line == 4
    assert ignored.place is None
    assert not of(report, "TL200")


def test_an_ignore_hides_the_next_line_and_says_why(tmp_path: Path) -> None:
    source = SOURCE.replace(LINE, "    {#- template-lint: ignore[TL101] the engine\n  cuts it off -#}\n" + LINE)
    report = run(tmp_path, source)
    [finding] = of(report, "TL101")
    assert (finding.suppressed, finding.suppression_reason) == ("inline", "the engine cuts it off")
    assert report.summary().inline == 1
    assert not of(report, "TL901")


def test_an_ignore_elsewhere_does_not_hide_a_finding_with_a_place(tmp_path: Path) -> None:
    source = "{#- template-lint: ignore[TL101] wrong place #}\n" + SOURCE
    report = run(tmp_path, source)
    assert of(report, "TL101")[0].suppressed is None
    [unused] = of(report, "TL901")
    assert cut(source, unused) == "TL101"
    assert unused.message == "the ignore of TL101 hides nothing: there is no such finding on line 2, or without a place"
    assert unused.file == report.targets[0].templates[0].file


def test_an_ignore_anywhere_hides_findings_without_a_place(tmp_path: Path) -> None:
    report = run(tmp_path, SOURCE + "{# template-lint: ignore[tools-ignored] tools are in the system message #}\n")
    assert of(report, "TL203")[0].suppressed == "inline"
    assert not of(report, "TL901")


def test_an_ignore_of_the_file_hides_them_all(tmp_path: Path) -> None:
    report = run(tmp_path, "{# template-lint: ignore-file[TL101, TL203] an old model #}\n" + SOURCE)
    assert {f.suppressed for f in report.findings if f.rule in ("TL101", "TL203")} == {"inline"}


def test_two_comments_over_one_line_both_count(tmp_path: Path) -> None:
    comments = "{#- template-lint: ignore[TL101] one #}\n{#- template-lint: ignore[TL103] two #}\n"
    report = run(tmp_path, SOURCE.replace(LINE, comments + LINE))
    assert of(report, "TL101")[0].suppressed == "inline"


@pytest.mark.parametrize(
    ("comment", "cut_out", "message"),
    [
        ("{# template-lint: ignore[TL101] #}", None, "ignore[TL101] gives no reason; nothing is ignored"),
        ("{# template-lint: ignore[TL101]: #}", None, "ignore[TL101] gives no reason; nothing is ignored"),
        ("{# template-lint: ignore[] why #}", None, "ignore names no rule; nothing is ignored"),
        ("{# template-lint: ignore TL101 why #}", None, "not a directive: 'template-lint: ignore TL101 why'; nothing"),
        ("{# template-lint: disable=TL101 #}", None, "not a directive: 'template-lint: disable=TL101'; nothing is"),
        ("{# template_lint: ignore[TL101] x #}", None, "not a directive: 'template_lint: ignore[TL101] x'; nothing is"),
        ("{# template-lint: ignore[TL999] x #}", "TL999", "there is no rule 'TL999'."),
        ("{# template-lint: ignore[tool-prefx] x #}", "tool-prefx", "'tool-prefx'. Did you mean tool-prefix?"),
        ("{# template-lint: ignore[TL1] x #}", "TL1", "there is no rule 'TL1'."),
        ("{# template-lint: ignore[TL901] x #}", "TL901", "TL901 cannot be ignored in a template"),
        ("{{ '' }}{# template-lint: ignore[TL101] x #}", None, "ignore[TL101] shares its line with something else"),
    ],
)
def test_a_malformed_ignore_hides_nothing_and_is_found(
    tmp_path: Path, comment: str, cut_out: str | None, message: str
) -> None:
    source = SOURCE.replace(LINE, comment + "\n" + LINE)
    report = run(tmp_path, source)
    assert of(report, "TL101")[0].suppressed is None
    [found] = of(report, "TL901")
    assert message in found.message
    assert cut(source, found) == (cut_out or comment[comment.index("{#") :])
    assert found.remedy


def test_one_wrong_code_does_not_spoil_the_others(tmp_path: Path) -> None:
    comment = "{# template-lint: ignore[TL999, TL101, TL108] known #}\n"
    source = SOURCE.replace(LINE, comment + LINE)
    report = run(tmp_path, source)
    assert of(report, "TL101")[0].suppressed == "inline"
    assert [cut(source, finding) for finding in of(report, "TL901")] == ["TL999", "TL108"]


def test_an_ignore_of_a_rule_that_was_not_asked_is_not_called_unused(tmp_path: Path) -> None:
    source = "{# template-lint: ignore-file[TL102, TL108] known #}\n" + SOURCE
    report = run(tmp_path, source, ignore=("TL108",))  # and TL102 needs a tokenizer
    assert not of(report, "TL901")
    assert "TL901" not in template(run(tmp_path, source, select=("TL101",))).checked


def test_switched_off_they_neither_hide_nor_speak(tmp_path: Path) -> None:
    report = run(tmp_path, "{# template-lint: ignore-file[TL101] x #}\n" + SOURCE, inline_ignores=False)
    assert of(report, "TL101")[0].suppressed is None
    assert not of(report, "TL901")
    assert report.not_honoured == 0


def test_a_template_that_does_not_compile_can_be_ignored_too(tmp_path: Path) -> None:
    report = run(tmp_path, "{# template-lint: ignore-file[TL002] a fragment #}\n{% if x %}\n")
    assert of(report, "TL002")[0].suppressed == "inline"


def test_crlf_and_wide_characters_do_not_move_the_place(tmp_path: Path) -> None:
    source = "{# 🎉é #}\r\n{# template-lint: ignore[TL108] x #}\r\n" + SOURCE
    report = run(tmp_path, source)
    [unused] = of(report, "TL901")
    assert unused.place is not None
    assert (unused.place.line, unused.place.column) == (2, len("{# template-lint: ignore[") + 1)
