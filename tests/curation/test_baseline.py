"""The baseline: what it hides, what is stale, what is written; files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from template_lint.config import Options
from template_lint.curation import curate
from template_lint.curation.baseline import Baseline, read_baseline
from template_lint.curation.identity import identity
from template_lint.errors import UsageError
from template_lint.model import Report, Severity, TargetError
from tests.curation.samples import FIRST, SECOND, SOURCE, asked, finding, one, report, suppressed, target, template

CODES = frozenset({"TL101", "TL102", "TL103", "TL200", "TL606"})


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chat_template.jinja").write_text(SOURCE)
    return tmp_path


def written(found: Report, old: Baseline | None = None) -> Baseline:
    """The baseline of a report, through its file."""
    file = Path("known.json")
    file.write_text((old or Baseline(file, {})).updated(found, CODES).text())
    return read_baseline(file)


def test_what_is_known_is_hidden() -> None:
    found = one(finding(), finding("TL200", None, severity=Severity.INFO))
    baseline = written(found)
    hidden, stale = baseline.apply(found, CODES)
    assert suppressed(hidden) == ["baseline", "baseline"]
    assert hidden.findings[0].suppression_reason == "in known.json"
    assert stale == 0


def test_a_finding_moves_and_stays_known() -> None:
    baseline = written(one(finding(message="line 1", scenario="one-call")))
    moved = "{# a new line #}\n" + SOURCE.replace("last   and\n x", "last and x")
    at = moved.index("loop.last")
    place = FIRST._replace(line=2, offset=at, end_offset=at + len("loop.last and x"))
    found = report(target(template(finding(place=place, message="line 2", scenario="two-calls"), source=moved)))
    assert suppressed(baseline.apply(found, CODES)[0]) == ["baseline"]


def test_the_same_mistake_once_more_is_new() -> None:
    baseline = written(one(finding()))
    assert list(baseline.known.values()) == [1]
    twice = one(finding(), finding(place=SECOND))
    assert suppressed(baseline.apply(twice, CODES)[0]) == ["baseline", None]
    assert list(written(twice, baseline).known.values()) == [2]


@pytest.mark.parametrize("changes", [{"rule": "TL102"}, {"place": FIRST._replace(end_offset=12)}, {"place": None}])
def test_another_rule_or_another_source_is_new(changes: dict[str, object]) -> None:
    baseline = written(one(finding()))
    assert suppressed(baseline.apply(one(finding(**changes)), CODES)[0]) == [None]


def test_another_template_is_new() -> None:
    baseline = written(one(finding()))
    for other in (target(template(finding()), name="b.jinja"), target(template(finding(), name="tool_use"))):
        assert suppressed(baseline.apply(report(other), CODES)[0]) == [None]


def test_without_a_place_the_evidence_tells_findings_apart() -> None:
    unknown = [finding("TL200", None, evidence={"kind": "filter", "name": name, "cases": 3}) for name in ("a", "b")]
    baseline = written(one(unknown[0]))
    again = unknown[0]._replace(evidence={"kind": "filter", "name": "a", "cases": 4}, message="other words")
    assert suppressed(baseline.apply(one(again, unknown[1]), CODES)[0]) == ["baseline", None]


def test_what_is_hidden_otherwise_needs_no_baseline() -> None:
    hidden = one(finding(suppressed="inline"), finding("TL102", suppressed="config"))
    assert written(hidden).known == {}
    baseline = written(one(finding()))
    _, stale = baseline.apply(one(finding(suppressed="inline")), CODES)
    assert stale == 1


def test_a_mild_finding_is_known_too() -> None:
    found = one(finding("TL200", None, severity=Severity.INFO))
    baseline = written(found)
    curated = curate(found, asked(found, Options(baseline=baseline.file, min_severity=Severity.ERROR)))
    assert suppressed(curated) == ["baseline"]
    assert curated.baseline is not None
    assert curated.baseline.stale == 0


def test_the_folder_from_which_it_is_checked_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "models" / "a"
    model.mkdir(parents=True)
    by_folder = report(target(template(finding()), name="models/a", kind="directory"))
    by_file = report(
        target(template(finding(), file="models/a/chat_template.jinja"), name="models/a/chat_template.jinja")
    )
    baseline = written(by_folder)
    assert [key.target for key in baseline.known] == ["models/a/chat_template.jinja"]
    assert suppressed(baseline.apply(by_file, CODES)[0]) == ["baseline"]
    monkeypatch.chdir(model)
    from_within = report(target(template(finding()), name="chat_template.jinja"))
    moved = baseline._replace(file=Path("../../known.json"))
    assert suppressed(moved.apply(from_within, CODES)[0]) == ["baseline"]


def test_a_hub_model_is_known_by_its_name_at_any_revision() -> None:
    hub = target(template(finding()), name="org/name@abc", kind="hub", repo="org/name", revision="a" * 40)
    baseline = written(report(hub))
    assert [key.target for key in baseline.known] == ["hf:org/name/chat_template.jinja"]
    assert suppressed(baseline.apply(report(hub._replace(target="hf:org/name", revision="b" * 40)), CODES)[0]) == [
        "baseline"
    ]


def test_findings_about_a_whole_target_are_known() -> None:
    hub = target(template(), name="org/name", kind="hub", repo="org/name", findings=[finding("TL606", None)])
    baseline = written(report(hub))
    assert suppressed(baseline.apply(report(hub), CODES)[0]) == ["baseline"]
    assert baseline.pruned(report(hub._replace(findings=[])), CODES).known == {}


def test_what_was_not_looked_at_is_not_stale() -> None:
    baseline = written(one(finding()))
    clean = one()
    assert baseline.apply(clean, CODES)[1] == 1
    not_asked = report(target(template(checked=["TL200"])))
    assert baseline.apply(not_asked, CODES)[1] == 0
    failed = report(target(error=TargetError("unreadable", "no")))
    assert baseline.apply(failed, CODES)[1] == 0
    assert baseline.apply(report(target(template(), name="other.jinja")), CODES)[1] == 0
    for found in (not_asked, failed):
        assert baseline.updated(found, CODES).known == baseline.known
        assert baseline.pruned(found, CODES).known == baseline.known


def test_a_file_that_is_gone_is_stale() -> None:
    baseline = written(one(finding()))
    Path("chat_template.jinja").unlink()
    elsewhere = report(target(template(), name="other.jinja"))
    assert baseline.apply(elsewhere, CODES)[1] == 1
    assert baseline.pruned(elsewhere, CODES).known == {}


def test_a_template_that_the_model_has_no_more_is_stale() -> None:
    Path("model").mkdir()
    Path("model/old.jinja").write_text("")
    both = [template(finding(), file="old.jinja", name="old"), template(file="chat_template.jinja")]
    baseline = written(report(target(*both, name="model", kind="directory")))
    assert baseline.apply(report(target(both[1], name="model", kind="directory")), CODES)[1] == 1


def test_pruning_lowers_counts_and_adds_nothing() -> None:
    baseline = written(one(finding(), finding(place=SECOND), finding("TL102")))
    now = one(finding(), finding("TL103"))
    pruned = baseline.pruned(now, CODES)
    assert {(key.rule, count) for key, count in pruned.known.items()} == {("TL101", 1)}
    assert suppressed(pruned.apply(now, CODES)[0]) == ["baseline", None]


def test_the_bytes_are_the_same_whatever_the_order() -> None:
    first, second = target(template(finding()), name="b.jinja"), target(template(finding("TL102")), name="a.jinja")
    texts = {written(report(*order)).text() for order in ((first, second), (second, first))}
    [text] = texts
    assert text == Path("known.json").read_text()
    assert [entry["target"] for entry in json.loads(text)["findings"]] == ["a.jinja", "b.jinja"]
    assert len(text.splitlines()) == 7  # one finding a line
    assert Baseline(Path("x"), {}).text() == '{\n  "version": 1,\n  "findings": []\n}\n'


def test_no_line_no_absolute_path_no_control_character(tmp_path: Path) -> None:
    source = "\u202e{% if \x1b[31m %}"
    found = report(target(template(finding(place=FIRST._replace(offset=0, end_offset=15)), source=source)))
    text = written(found).text()
    assert str(tmp_path) not in text
    assert "line" not in text
    assert text.isascii()
    assert text.replace("\n", "").isprintable()


def test_long_sources_are_told_apart() -> None:
    sources = [f"{'x ' * 300}{end}" for end in "ab"]
    keys = {
        identity(
            t := target(template(source=source)),
            t.templates[0],
            finding(place=FIRST._replace(offset=0, end_offset=601)),
            Path(),
        )
        for source in sources
    }
    assert len(keys) == 2
    assert all(len(key.content) < 200 for key in keys)


def test_a_missing_baseline_says_how_to_write_it() -> None:
    with pytest.raises(UsageError, match=r"no baseline no\.json\. Write it with --baseline no\.json --update-baseline"):
        read_baseline(Path("no.json"))


ENTRY = '{"target": "a", "rule": "TL101", "content": "x", "count": 1}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value: line 1"),
        ("{", "line 1 column 2"),
        ("[" * 100_000, "malformed"),
        ("[]", "it must be an object with the keys version and findings"),
        ('{"version": 1}', "it must be an object"),
        ('{"version": 1, "findings": [], "more": 1}', "it must be an object"),
        ('{"version": 2, "findings": []}', "its version is 2, and this is a reader of version 1"),
        ('{"version": true, "findings": []}', "its version is True"),
        ('{"version": 1, "findings": {}}', "findings must be a list"),
        ('{"version": 1, "findings": [1]}', "finding 1 must have the keys"),
        ('{"version": 1, "findings": [{"rule": "TL101"}]}', "finding 1 must have the keys"),
        (f'{{"version": 1, "findings": [{ENTRY}, {ENTRY}]}}', "finding 2 is there twice"),
        (f'{{"version": 1, "findings": [{ENTRY.replace("1}", "0}")}]}}', "count of finding 1 must be a number from 1"),
        (f'{{"version": 1, "findings": [{ENTRY.replace("1}", "true}")}]}}', "count of finding 1"),
        (f'{{"version": 1, "findings": [{ENTRY.replace(chr(34) + "x" + chr(34), "7")}]}}', "content of finding 1"),
        (f'{{"version": 1, "findings": [{ENTRY.replace("TL101", "")}]}}', "rule of finding 1 must be a text"),
    ],
)
def test_a_malformed_baseline_is_an_error(text: str, message: str) -> None:
    Path("bad.json").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_baseline(Path("bad.json"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("the baseline bad.json is malformed: ")


def test_a_merge_conflict_is_called_by_its_name() -> None:
    Path("known.json").write_text('{\n<<<<<<< HEAD\n  "version": 1,\n=======\n>>>>>>> theirs\n  "findings": []\n}\n')
    with pytest.raises(
        UsageError, match=r"^known\.json:2: a merge conflict is not resolved\. .* --update-baseline, and look"
    ):
        read_baseline(Path("known.json"))


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    Path("latin.json").write_bytes(b"\xff")
    for name in ("latin.json", "."):
        with pytest.raises(UsageError, match="cannot read the baseline"):
            read_baseline(Path(name))
