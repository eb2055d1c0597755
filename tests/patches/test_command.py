"""``template-lint patches``: listing, printing, proving, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from template_lint.patches.index import load_index, read_source
from tests.patches import toys


def run(*words: object) -> Result:
    return CliRunner().invoke(program, ["patches", *map(str, words)])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    original, training = tmp_path / "original.jinja", tmp_path / "training.jinja"
    original.write_text(toys.ORIGINAL, encoding="utf-8")
    training.write_text(toys.SOUND, encoding="utf-8")
    return original, training


def test_the_list() -> None:
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "family", "fixes", "stable", "roles"]
    assert [line.split()[0] for line in lines[1:] if not line.startswith(" ")] == [e.name for e in load_index()]


def test_the_list_as_data() -> None:
    data = json.loads(run("-o", "json").stdout)
    assert data["schema_version"] == 1
    assert {"name", "family", "models", "originals", "fixes", "stable_roles", "transformers"} <= set(
        data["templates"][0]
    )


def test_one_is_printed_byte_for_byte() -> None:
    assert run("qwen3").stdout == read_source("qwen3")


def test_an_unknown_name_is_told_the_nearest() -> None:
    result = run("qwen33")
    assert result.exit_code == 2
    assert "no training template 'qwen33'. Did you mean qwen3?" in result.stderr


def test_a_pair_is_proven(pair: tuple[Path, Path]) -> None:
    result = run("--prove", "--original", pair[0], "--training", pair[1], "--transformers", "5.24")
    assert result.exit_code == 0
    assert ": proven (differs as listed, or not asked: prefix-ids)" in result.stdout
    assert result.stderr == "1 of 1 proven\n"


def test_a_pair_is_not_proven(pair: tuple[Path, Path]) -> None:
    pair[1].write_text(toys.changed(toys.SOUND, "</think>", "</thought>"), encoding="utf-8")
    arguments = ["--prove", "--original", pair[0], "--training", pair[1], "--transformers", "5.24"]
    result = run(*arguments)
    assert result.exit_code == 1
    assert "NOT PROVEN" in result.stdout
    assert "problem: as-last fails in call-with-reasoning (2 messages, offset " in result.stdout
    data = json.loads(run(*arguments, "-o", "json").stdout)["proofs"][0]
    assert data["proven"] is False
    assert data["laws"]["as-last"]["status"] == "fails"
    assert "</thought>" in data["laws"]["as-last"]["counterexample"]["found"]


def test_without_the_originals_nothing_is_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPLATE_LINT_INPUTS", str(tmp_path))
    result = run("qwen3", "--prove")
    assert result.exit_code == 3
    assert "the original is not there: run scripts/fetch_inputs.py" in result.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--transformers", "5.24"], "go with --prove"),
        (["--prove", "--original", __file__], "--original needs one NAME, or --training FILE"),
        (["--prove", "--training", __file__], "--training needs --original FILE"),
        (["--prove", "--original", "nowhere"], "nowhere"),
    ],
)
def test_wrong_usage(words: list[str], complaint: str) -> None:
    result = run(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr
