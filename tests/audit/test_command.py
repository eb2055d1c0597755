"""``template-lint audit``: exit codes, formats, the words of its first line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TEMPLATE_LINT_DEBUG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)


def run(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(program, ["audit", *words], input=stdin, prog_name="template-lint")


def sample(target: Path, *words: str, count: int = 40) -> str:
    done = run("--make-sample", str(count), "--tokenizer", str(target), "--transformers", "5.24", *words)
    assert done.exit_code == 0, done.output
    return done.stdout


def write(target: Path, *words: str) -> str:
    Path("rollouts.jsonl").write_text(sample(target, *words), encoding="utf-8")
    return "rollouts.jsonl"


def test_a_sound_sample_exits_0(target: Path) -> None:
    done = run(write(target, "--defects", "none"), "--tokenizer", str(target))
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "SOUND: no error in 40 trajectories"


def test_a_defect_exits_1_and_says_what_to_do(target: Path) -> None:
    done = run(write(target, "--defects", "greedy", "--defect-rate", "0.04"), "--tokenizer", str(target))
    assert done.exit_code == 1
    assert done.stdout.startswith("NOT SOUND: greedy-data in 2 of 40 trajectories")
    assert "fix: Sample at temperature 1" in done.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 0), ("info", 1)])
def test_fail_on(fail_on: str, code: int, target: Path) -> None:
    path = write(target, "--defects", "coarse", "--defect-rate", "0.04")
    assert run(path, "--tokenizer", str(target), "--fail-on", fail_on).exit_code == code


def test_only_selected_rules_count(target: Path) -> None:
    path = write(target, "--defects", "greedy,no-stop", "--defect-rate", "0.04")
    done = run(path, "--tokenizer", str(target), "--select", "TLA09", "-o", "json")
    assert [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == ["TLA09"]


def test_what_was_not_read_is_never_green(target: Path) -> None:
    path = write(target, "--defects", "none")
    with Path(path).open("a", encoding="utf-8") as stream:
        stream.write("not json\n")
    done = run(path, "--tokenizer", str(target), "-o", "text", "-o", "json=out.json")
    assert done.exit_code == 3
    assert done.stdout.startswith("NOT ALL READ: no error in 40 trajectories, but 1 bad row could not be read")
    assert "bad row: rollouts.jsonl:41: not valid JSON" in done.stdout
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert (document["sound"], document["complete"], document["counts"]["bad_rows"]) == (None, False, 1)


def test_standard_input(target: Path) -> None:
    done = run("-", "--tokenizer", str(target), stdin=sample(target, "--defects", "none"))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no rollouts given"),
        (("gone.jsonl",), "no such file"),
        (("-", "--preset", "slim"), "Did you mean 'slime'"),
        (("-", "--fields", "idz=x"), "Did you mean 'ids'"),
        (("-", "--output", "pdf"), "unknown output format"),
        (("-", "--stop-ids", "x"), "write token ids"),
        (("-", "--kwargs", "x"), "write NAME=VALUE"),
        (("--make-sample", "3", "--defects", "greedi"), "Did you mean 'greedy'"),
        (("--make-sample", "3", "a.jsonl"), "reads no rollouts"),
    ],
)
def test_wrong_usage_exits_2(words: tuple[str, ...], said: str, target: Path) -> None:
    done = run(*words, "--tokenizer", str(target), stdin="{}\n")
    assert done.exit_code == 2, done.output
    assert said in done.stderr


def test_an_empty_file_exits_3(target: Path) -> None:
    done = run("-", "--tokenizer", str(target), stdin="")
    assert (done.exit_code, "nothing to audit" in done.stderr) == (3, True)


def test_a_target_without_tokenizer_exits_3(target: Path, tmp_path: Path) -> None:
    path = write(target, "--defects", "none")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    done = run(path, "--tokenizer", str(tmp_path / "chat_template.jinja"))
    assert done.exit_code == 3, done.output


def test_a_sample_is_the_same_for_the_same_seed(target: Path) -> None:
    first, again, other = (sample(target, "--seed", seed, count=12) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def document_of(target: Path) -> dict[str, Any]:
    done = run(write(target, "--defect-rate", "0.04"), "--tokenizer", str(target), "-o", "json")
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def test_json_has_what_plots_and_strips_need(target: Path) -> None:
    document = document_of(target)
    assert document["schema_version"] == 1
    health = document["health"]
    assert sum(count for _, count in health["histograms"]["log_ratio"]) == health["tokens"]
    strip = health["worst"][0]
    assert strip["tokens"] and {"id", "text", "sampled", "log_ratio", "changed"} == set(strip["tokens"][0])
    assert document["drift"]["worst"] and any(token["changed"] for token in document["drift"]["worst"][0]["tokens"])


def test_junit_has_a_case_for_every_rule(target: Path) -> None:
    from template_lint.audit.findings import audit_rules

    path = write(target, "--defects", "greedy", "--defect-rate", "0.04")
    done = run(path, "--tokenizer", str(target), "-o", "junit")
    suite = ElementTree.fromstring(done.stdout).find("testsuite")
    assert suite is not None
    cases = {str(case.get("name")): case for case in suite}
    assert [name.split()[0] for name in cases][:-1] == [rule.code for rule in audit_rules()]
    assert cases["TLA34 greedy-data"].find("failure") is not None
    assert cases["TLA01 unequal-lengths"].find("failure") is None
    assert suite.get("failures") == "1"


def test_markdown_has_a_row_for_every_finding(target: Path) -> None:
    path = write(target, "--defects", "greedy,no-stop", "--defect-rate", "0.04")
    done = run(path, "--tokenizer", str(target), "-o", "markdown")
    assert done.stdout.startswith("## Rollouts: not sound\n")
    assert [line.split("|")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("| TLA")] == [
        "TLA09",
        "TLA34",
    ]
