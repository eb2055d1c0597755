"""``template-lint tito``, through the command line, on small models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from tests.tito import toy_models as toy

Run = Callable[..., Result]


@pytest.fixture
def tito(monkeypatch: pytest.MonkeyPatch) -> Run:
    for variable in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)

    def call(*args: str) -> Result:
        return CliRunner().invoke(program, ["tito", "--segmentations", "4", *args], prog_name="template-lint")

    return call


def model(path: Path, template: str) -> str:
    path.mkdir(exist_ok=True)
    return str(toy.folder(path, template))


def test_the_answer_comes_first(tito: Run, tmp_path: Path) -> None:
    result = tito(model(tmp_path / "sound", toy.SOUND))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "Yes: the buffer is exactly right after tool, user and system messages."
    assert "fail" not in result.stdout
    assert any(line.startswith("drifted tokens") for line in lines)
    assert len(lines) < 24


def test_what_fails_and_what_to_do(tito: Run, tmp_path: Path) -> None:
    result = tito(model(tmp_path / "broken", toy.THINKS_LAST))
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "No: the buffer will not be what the template renders (TL101)."
    at = next(number for number, line in enumerate(lines) if line.startswith("fail buffer-after-tool TL101: "))
    assert any(line.startswith("    do: Use a template that renders history the same") for line in lines[at:])
    assert len(lines) < 40
    assert max(map(len, lines)) <= 100


def test_json(tito: Run, tmp_path: Path) -> None:
    result = tito(model(tmp_path / "sound", toy.SOUND), "--seed", "3", "-o", "json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["schema_version"] == 1
    (target,) = data["targets"]
    assert (target["sound"], target["seed"], target["engine"]) == (True, 3, "mirror")
    (template,) = target["templates"]
    assert template["verdict"]["tito"] == "stable"
    assert {check["status"] for check in template["checks"]} == {"pass", "skipped"}
    assert template["ratio"]["tito_maximum_error"] == 0.0
    assert template["drift"]["examples"][0].keys() >= {"sampled", "reencoded", "sampled_texts", "reencoded_texts"}


def test_a_target_that_cannot_be_checked(tito: Run, tmp_path: Path) -> None:
    file = tmp_path / "alone.jinja"
    file.write_text(toy.SOUND, encoding="utf-8")
    result = tito(str(file))
    assert result.exit_code == 3
    assert "--tokenizer" in result.stderr
    donor = model(tmp_path / "model", toy.SOUND)
    assert tito(str(file), "--tokenizer", donor).exit_code == 0
    both = tito(donor, str(tmp_path / "model" / "tokenizer_config.json"), "-o", "json")
    assert both.exit_code == 3
    data = json.loads(both.stdout)
    assert (len(data["targets"]), len(data["errors"])) == (1, 1)


def test_a_failure_outweighs_what_could_not_be_checked(tito: Run, tmp_path: Path) -> None:
    file = tmp_path / "alone.jinja"
    file.write_text(toy.SOUND, encoding="utf-8")
    assert tito(str(file), model(tmp_path / "broken", toy.THINKS_LAST)).exit_code == 1


def test_nothing_renders(tito: Run, tmp_path: Path) -> None:
    result = tito(model(tmp_path / "dead", "{{ messages[0].nothing.at_all }}"))
    assert result.exit_code == 3
    assert result.stdout.startswith("Not known: ")


def test_wrong_usage(tito: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "sound", toy.SOUND)
    assert tito().exit_code == 2
    assert tito(path, "--engine", "minijinja").exit_code == 2
    assert tito(path, "--engine", "transformers", "--transformers", "5.1").exit_code == 2
    assert tito(path, "--scenario", "nothing").exit_code == 2
    assert tito(str(tmp_path / "missing.jinja")).exit_code == 2


def test_the_installed_transformers(tito: Run, tmp_path: Path) -> None:
    path = model(tmp_path / "sound", toy.SOUND)
    ours, theirs = (tito(path, "--engine", engine, "--scenario", "two-rounds") for engine in ("mirror", "transformers"))
    assert (ours.exit_code, theirs.exit_code) == (0, 0)
    assert ours.stdout.replace("mirror", "transformers") == theirs.stdout


def test_own_conversations(tito: Run, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    ask = {"role": "user", "content": "Tide?"}
    own.write_text(json.dumps({"name": "mine", "messages": [ask, {"role": "assistant", "content": "No."}]}), "utf-8")
    path = model(tmp_path / "sound", toy.SOUND)
    result = tito(path, "--conversations", str(own), "--scenario", "mine")
    assert result.exit_code == 0
    assert result.stdout.startswith("Yes: the buffer is exactly right.\n")
    assert "1 of 1 conversations" in " ".join(result.stdout.split())
