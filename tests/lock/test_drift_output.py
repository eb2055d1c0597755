"""The drift report as text, JSON and Markdown, and the command line around it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from template_lint.lock.drift.model import Drift, DriftReport
from template_lint.report.drift import FORMATS, drift_writer
from template_lint.report.layout.canvas import Canvas
from template_lint.rules.registry import all_rules
from tests.lock.pairs import MODEL, TEMPLATE, drift, model, replaced

HOSTILE = "{#- \x1b[31m ``` \u202e <img src=x> | [a](b) -#}\n" + TEMPLATE.replace("'<call>'", "'<call>\x1b[2J'")


def written(name: str, *drifts: Drift, width: int = 100) -> str:
    out = io.StringIO()
    drift_writer(name)(DriftReport(drifts), out, canvas=Canvas(width=width))
    return out.getvalue()


@pytest.fixture
def changed(tmp_path: Path) -> Drift:
    return drift(tmp_path, MODEL, replaced("'<call>'", "'<call>\\n'"))


@pytest.fixture
def hostile(tmp_path: Path) -> Drift:
    return drift(tmp_path, MODEL, model(HOSTILE))


def test_the_first_line_has_the_grade_and_the_second_thing_is_what_to_do(changed: Drift) -> None:
    text = written("text", changed)
    first, *_ = text.splitlines()
    assert first.startswith("FAIL org/model  grade 2 of 3, prompts differ (TL603): 108 of 120 conversations read")
    assert text.index("do: A run that has begun") < text.index("files (sha256)") < text.index("first difference")


def test_text_keeps_to_the_width(changed: Drift) -> None:
    assert max(map(len, written("text", changed, width=72).splitlines())) <= 72


@pytest.mark.parametrize("name", ["text", "markdown"])
def test_nothing_of_a_template_drives_the_terminal(name: str, hostile: Drift) -> None:
    text = written(name, hostile)
    assert "\x1b" not in text and "\u202e" not in text
    assert "\\x1b" in text


def test_no_text_of_a_template_leaves_the_block_it_stands_in(hostile: Drift) -> None:
    text = written("markdown", hostile)
    fence = next(line for line in text.splitlines() if line.startswith("````"))
    assert fence == "````text"
    assert text.count("\n````\n") == 1 and "<img" not in text.partition(fence)[0]


def test_json_has_every_conversation_and_plain_data_only(changed: Drift) -> None:
    document = json.loads(written("json", changed))
    assert document["schema_version"] == 1
    assert document["summary"] == {"comparisons": 1, "not_compared": 0, "compared_in_part": 0, "worst_grade": 2}
    [found] = document["drifts"]
    [template] = found["templates"]
    assert (found["grade"], found["grade_name"]) == (2, "prompts-differ")
    assert len(template["prompts"]["differing"]) == 108
    assert template["prompts"]["first"]["before"] != template["prompts"]["first"]["after"]
    assert found["findings"][0]["rule"] == "TL603"
    assert set(found["files"][0]) == {"path", "before", "after"}


def test_many_comparisons_fit_a_pull_request_the_gravest_first(changed: Drift, tmp_path: Path) -> None:
    milder = drift(tmp_path, MODEL, model("{#- n -#}" + TEMPLATE))
    few = written("markdown", milder, changed)
    assert few.index("grade 2 of 3") < few.index("grade 1 of 3")
    for number in (100, 2000):
        text = written("markdown", *[milder] * number, changed)
        assert len(text) < 65_536
        assert f"{number + 1} comparisons" in text
        assert "are left out here" in text and "grade 2 of 3" in text


def test_every_rule_of_drift_has_a_transcript_of_itself() -> None:
    for rule in all_rules():
        if rule.stage == "drift":
            transcript = rule.transcript()
            assert transcript is not None and transcript.startswith("$ template-lint diff ")
            assert rule.code in transcript.splitlines()[1] + transcript.splitlines()[2]


Command = Callable[..., Result]


@pytest.fixture
def command(project: Path) -> Command:
    (project / "old.jinja").write_text(TEMPLATE, encoding="utf-8")
    (project / "new.jinja").write_text(TEMPLATE.replace("'<call>'", "'<call>\\n'"), encoding="utf-8")
    return lambda *words: CliRunner().invoke(program, ["diff", *words], prog_name="template-lint")


def test_two_files(command: Command) -> None:
    done = command("old.jinja", "new.jinja")
    assert done.exit_code == 1
    assert done.stdout.startswith("FAIL old.jinja -> new.jinja  grade 2 of 3")
    assert "lock --upgrade" not in done.stdout
    assert command("old.jinja", "new.jinja", "--fail-on", "never").exit_code == 0


def test_the_same_file_twice_is_no_drift(command: Command) -> None:
    done = command("old.jinja", "old.jinja")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (
        0,
        "ok   old.jinja -> old.jinja  no drift: old.jinja and old.jinja have the same files",
    )


def test_several_outputs(command: Command, project: Path) -> None:
    done = command("old.jinja", "new.jinja", "-o", "json=a.json", "-o", "markdown=a.md")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "grade 2 of 3" in done.stderr
    assert json.loads((project / "a.json").read_text(encoding="utf-8"))["drifts"][0]["grade"] == 2
    assert (project / "a.md").read_text(encoding="utf-8").startswith("# Drift\n")


def test_two_versions_of_one_file(command: Command) -> None:
    done = command("old.jinja", "--transformers", "4.57", "--transformers", "5.24")
    assert done.exit_code == 0
    assert "read the same under transformers 4.57 and" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no template-lint.lock"),
        (["org/model"], "there is no template-lint.lock"),
        (["a.jinja", "b.jinja", "c.jinja"], "diff compares two things"),
        (["no-such-file.jinja", "old.jinja"], "no such file"),
        (["old.jinja", "new.jinja", "--transformers", "4.57", "--transformers", "5.24"], "Name one target"),
        (["--transformers", "4.57", "--transformers", "5.24"], "Name one target"),
        (["old.jinja", "new.jinja", "-o", "sarif"], "Choose one of: json, markdown, text"),
        (["-", "-"], "standard input can be read only once"),
        ([".", "old.jinja"], "holds 2 templates or models"),
    ],
)
def test_wrong_usage_is_exit_2_and_says_what_to_do(words: list[str], said: str, command: Command) -> None:
    done = command(*words)
    assert done.exit_code == 2
    assert said in done.stderr and done.stdout == ""


def test_every_format_is_a_module() -> None:
    assert [name for name in FORMATS if callable(drift_writer(name))] == list(FORMATS)
