"""One defect that two rules see is one finding: who says it, what hides, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.config import Ignore, Options, TargetSpec
from template_lint.curation import curate
from template_lint.curation.baseline import Baseline
from template_lint.curation.duplicates import mark_duplicates
from template_lint.engine import check
from template_lint.model import Finding, Report, Severity
from tests.curation.samples import asked, finding, one, suppressed

ERROR, WARNING = Severity.ERROR, Severity.WARNING
LOOKS_AHEAD = """{%- for message in messages %}
{{- '<|' ~ message.role ~ '|>' ~ (message.content or '') }}
{%- for call in message.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}
{%- if loop.last and message.role == 'assistant' %}
    {{- '<|endoftext|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""


def speaker(**changes: object) -> Finding:
    return finding("TL101", message="a result rewrites it", defects=["a"], brief="results do", **changes)


def echo(**changes: object) -> Finding:
    fields: dict[str, object] = {"severity": WARNING, "defects": ["a"], "brief": "users do (7 of 7)", **changes}
    return finding("TL104", **fields)


def test_the_graver_one_says_what_the_other_adds() -> None:
    marked = mark_duplicates(one(echo(), speaker()))
    assert suppressed(marked) == ["duplicate", None]
    assert marked.findings[0].suppression_reason == "TL101 says it"
    assert marked.findings[1].message == "a result rewrites it; TL104 too: users do (7 of 7)"
    total = marked.summary()
    assert (total.errors, total.warnings, total.duplicates, total.suppressed) == (1, 0, 1, 0)


@pytest.mark.parametrize(
    "other",
    [
        echo(defects=["b"]),
        echo(defects=["a", "b"]),
        echo(defects=[]),
        echo(brief=""),
        echo()._replace(rule="TL101"),
        finding("TL104", severity=WARNING),
    ],
)
def test_what_says_more_or_stands_for_itself_stays(other: Finding) -> None:
    report = one(speaker(), other)
    assert mark_duplicates(report) == report


def test_of_equals_the_one_that_stands_for_itself_speaks() -> None:
    header = finding("TL108", severity=WARNING, defects=["a", "b"])
    assert suppressed(mark_duplicates(one(echo(), header))) == ["duplicate", None]
    assert suppressed(mark_duplicates(one(speaker(severity=WARNING), echo()))) == [None, "duplicate"]


def test_findings_of_two_templates_are_two() -> None:
    report = one(speaker())
    report = report._replace(targets=[*report.targets, *one(echo()).targets])
    assert suppressed(mark_duplicates(report)) == [None, None]


def test_a_severity_of_the_configuration_decides_who_speaks() -> None:
    report = one(speaker(), echo())
    curated = curate(report, asked(report, Options(severity={"TL104": ERROR, "TL101": WARNING})))
    assert [(f.rule, f.suppressed) for f in curated.findings] == [("TL104", None), ("TL101", "duplicate")]


@pytest.mark.parametrize("hidden", ["inline", "config"])
def test_an_ignored_finding_speaks_for_nobody(hidden: str) -> None:
    assert suppressed(mark_duplicates(one(speaker(suppressed=hidden), echo()))) == [hidden, None]


def test_what_is_ignored_stays_ignored() -> None:
    assert suppressed(mark_duplicates(one(speaker(), echo(suppressed="inline")))) == [None, "inline"]


def test_a_baseline_knows_each_finding_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file, codes = Path("known.json"), frozenset({"TL101", "TL104"})
    both, alone = one(speaker(), echo()), one(echo())

    def with_baseline(report: Report) -> Report:
        return curate(report, asked(report, Options(baseline=file)))

    known = Baseline(file, {}).updated(mark_duplicates(both), codes)
    file.write_text(known.text())
    assert suppressed(with_baseline(both)) == suppressed(known.apply(mark_duplicates(both), codes)[0])
    assert suppressed(with_baseline(both)) == ["baseline", "baseline"]
    assert suppressed(with_baseline(alone)) == ["baseline"]
    assert known.pruned(mark_duplicates(both), codes) == known


def test_what_is_new_beside_a_known_finding_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate must not stay green because a rule that finds something new names a defect that the baseline knows."""
    monkeypatch.chdir(tmp_path)
    file = Path("known.json")
    file.write_text(Baseline(file, {}).updated(one(speaker()), frozenset({"TL101"})).text())
    report = one(speaker(), echo(severity=ERROR))
    curated = curate(report, asked(report, Options(baseline=file)))
    assert suppressed(curated) == ["baseline", None]
    assert curated.findings[0].message == "a result rewrites it"
    assert curated.summary().errors == 1


def written(folder: Path, source: str = LOOKS_AHEAD, **options: object) -> Report:
    path = folder / "chat_template.jinja"
    path.write_text(source)
    return check([str(path)], Options(transformers="5.24", cache=False, jobs=1, **options))  # type: ignore[arg-type]


def live(report: Report) -> list[Finding]:
    return [found for found in report.findings if found.suppressed is None]


def test_a_condition_that_looks_ahead_is_one_finding(tmp_path: Path) -> None:
    report = written(tmp_path, select=("TL101", "TL104"))
    [found] = live(report)
    assert found.rule == "TL101" and found.place is not None and found.place.line == 4
    assert "; TL104 too: appending a user turn rewrites history (" in found.message
    assert [f.rule for f in report.findings if f.suppressed == "duplicate"] == ["TL104"]


def test_text_that_results_push_behind_them_is_one_finding(tmp_path: Path) -> None:
    """The text beside a call is printed after the results that follow it: another order, and no stable prefix."""
    source = (
        "{% for m in messages %}{% if m.tool_calls %}<call>"
        "{% for n in messages[loop.index:] if n.role == 'tool' %}<{{ n.content }}>{% endfor %}{{ m.content }}</call>"
        "{% elif m.role != 'tool' %}<{{ m.role }}>{{ m.content }}</>{% endif %}{% endfor %}"
        "{{ '<assistant>' if add_generation_prompt }}"
    )
    report = written(tmp_path, source, select=("TL101", "TL209"))
    told = [found for found in live(report) if "TL209 too: the assistant's 'Let me look that up.'" in found.message]
    assert [found.rule for found in told] == ["TL101"]
    assert "TL209" not in [found.rule for found in live(report)]


def test_a_rule_that_is_asked_alone_speaks_for_itself(tmp_path: Path) -> None:
    assert [found.rule for found in live(written(tmp_path, select=("TL104",)))] == ["TL104"]
    assert "TL104" in [found.rule for found in live(written(tmp_path, ignore=("TL101",)))]
    spec = TargetSpec(str(tmp_path), ignore=(Ignore(("TL101",), "no tools", None),))
    assert "TL104" in [found.rule for found in live(written(tmp_path, targets=(spec,)))]
