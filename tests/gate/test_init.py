"""``template-lint init``: what it proposes, that it overwrites nothing, and that what it writes works."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from template_lint.settings import read_settings
from template_lint.settings.starter import HOOKS, WORKFLOW, configuration_text, proposals, workflow_text
from template_lint.settings.survey import Survey, survey
from tests.facts.helper import STABLE
from tests.snapshot.folders import model_folder

Run = Callable[..., Result]
WRITTEN = ["template-lint.yaml", WORKFLOW, HOOKS]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(root)], check=True)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run() -> Run:
    def call(*args: str, **env: str) -> Result:
        return CliRunner().invoke(program, args, env=env, prog_name="template-lint")

    return call


def files(root: Path) -> list[str]:
    found = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
    return sorted(name for name in found if not name.startswith(".git/"))


def test_without_a_terminal_it_shows_and_writes_nothing(run: Run, repository: Path) -> None:
    result = run("init")
    assert result.exit_code == 2
    assert result.stderr == (
        "template-lint: nothing written: there is no terminal to ask. Run it again with --yes to write.\n"
    )
    assert [line for line in result.stdout.splitlines() if line.startswith("--- ")] == [
        f"--- {name} (new)" for name in WRITTEN
    ]
    assert files(repository) == []


def test_from_an_empty_repository_with_a_template_to_a_working_gate(run: Run, repository: Path) -> None:
    (repository / "prompt.jinja").write_text(STABLE)
    result = run("init", "--yes")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[:3] == [f"wrote {name}" for name in WRITTEN]
    assert files(repository) == sorted(["prompt.jinja", *WRITTEN])
    settings = run("check", "--show-settings").stdout
    assert re.search(r"^targets +template-lint\.yaml:\d+ +prompt\.jinja$", settings, re.MULTILINE)
    checked = run("check", "--jobs", "1")
    assert checked.exit_code == 0, checked.output
    assert "checked 1 template: " in checked.stdout


def test_what_is_shown_is_what_is_written(run: Run, repository: Path) -> None:
    shown = run("init", "--yes").stdout
    for name in WRITTEN:
        assert f"--- {name} (new)\n{(repository / name).read_text()}" in shown


def test_it_works_from_a_folder_of_the_repository(run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "deep").mkdir()
    (repository / "deep" / "a.jinja").write_text(STABLE)
    monkeypatch.chdir(repository / "deep")
    assert run("init", "--yes").stderr.splitlines()[0] == "wrote ../template-lint.yaml"
    assert read_settings(repository / "template-lint.yaml").targets[0].target == "a.jinja"


def test_nothing_is_overwritten(run: Run, repository: Path) -> None:
    (repository / ".github" / "workflows").mkdir(parents=True)
    for name in WRITTEN:
        (repository / name).write_text("# mine\n")
    result = run("init", "--yes")
    assert result.exit_code == 0
    assert result.stderr == "template-lint: nothing to write: every file is there already.\n"
    assert {(repository / name).read_text() for name in WRITTEN} == {"# mine\n"}
    assert f"--- {HOOKS} is there and stays as it is. Add by hand:\n  - repo: https://github.com/" in result.stdout


def test_what_is_there_already_needs_no_advice(run: Run, repository: Path) -> None:
    run("init", "--yes")
    again = run("init", "--yes")
    assert "Add by hand" not in again.stdout
    assert again.stdout.count("is there and stays as it is.") == 3


def test_a_table_in_pyproject_is_a_configuration(run: Run, repository: Path) -> None:
    (repository / "pyproject.toml").write_text("[tool.template-lint]\nfail-on = 'warning'\n")
    run("init", "--yes")
    assert files(repository) == sorted(["pyproject.toml", WORKFLOW, HOOKS])
    assert run("check", "--show-settings").exit_code == 0


def test_a_file_that_cannot_be_written_is_one_line(run: Run, repository: Path) -> None:
    (repository / ".github").write_text("not a folder")
    result = run("init", "--yes")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("template-lint: cannot write ")


def test_the_survey(repository: Path) -> None:
    assert survey(repository) == Survey(repository, branch="trunk")
    (repository / "models" / "a").mkdir(parents=True)
    model_folder(repository / "models" / "a", {"chat_template.jinja": STABLE, "tokenizer.json": "{}"})
    (repository / "b.jinja").write_text(STABLE)
    (repository / "template-lint.lock").write_text("")
    found = survey(repository / "models")
    assert found == Survey(
        repository,
        targets=("b.jinja", "models/a/"),
        templates=1,
        models=1,
        tokenizer="models/a",
        lock=True,
        branch="trunk",
    )
    assert [proposal.there for proposal in proposals(found)] == [False] * 3
    assert "- id: template-lint-lock" in proposals(found)[2].content


def test_templates_of_other_things_are_not_proposed(repository: Path) -> None:
    (repository / "page.html.jinja").write_text("<p>{{ user.name }}</p>")
    (repository / "Dockerfile.j2").write_text("FROM {{ image }}")
    assert survey(repository).targets == ()
    (repository / "chat.j2").write_text(STABLE)
    (repository / "cannot-be-read.jinja").symlink_to("nowhere")
    assert survey(repository).targets == ("chat.j2",)


def test_many_templates_are_named_by_their_folders(repository: Path) -> None:
    for number in range(20):
        folder = repository / ("one" if number % 2 else "two") / str(number)
        folder.mkdir(parents=True)
        (folder / "x.jinja").write_text(STABLE)
    assert survey(repository).targets == ("one/", "two/")
    for number in range(20):
        (repository / f"{number}.jinja").write_text(STABLE)
    assert survey(repository).targets == ("./",)


@pytest.mark.parametrize(
    "found",
    [
        Survey(Path()),
        Survey(Path(), targets=("a.jinja", "b/")),
        Survey(Path(), targets=("./",), tokenizer="b"),
        Survey(Path(), targets=('odd "name": {#}.jinja',)),
    ],
)
def test_the_configuration_can_be_read(found: Survey, repository: Path) -> None:
    (repository / "b").mkdir()
    for target in found.targets:
        if not (repository / target).exists():
            (repository / target).write_text("")
    path = repository / "template-lint.yaml"
    path.write_text(configuration_text(found))
    assert [spec.target for spec in read_settings(path).targets] == [target.rstrip("/") for target in found.targets]


def test_its_comments_are_settings_that_work(repository: Path) -> None:
    (repository / "tests").mkdir()
    (repository / "tests" / "conversations.jsonl").write_text("{}\n")
    text = configuration_text(Survey(Path()))
    path = repository / "template-lint.yaml"
    path.write_text(re.sub(r"^# ?((?:[a-z-]+:|  ?- [A-Z]).*)$", r"\1", text, flags=re.MULTILINE))
    assert set(read_settings(path).values) == {
        *("targets", "tokenizer", "fail-on", "require", "conversations", "baseline"),
    }


def test_the_workflow_has_the_least_permissions_and_a_pinned_checkout() -> None:
    workflow = yaml.safe_load(workflow_text("trunk"))
    assert workflow["permissions"] == {}
    [job] = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read"}
    checkout, lint = job["steps"]
    assert re.fullmatch(r"actions/checkout@[0-9a-f]{40}", checkout["uses"])
    assert checkout["with"] == {"persist-credentials": False}
    assert lint["uses"].startswith("template-lint/template-lint@")
    assert workflow[True]["push"] == {"branches": ["trunk"]}  # YAML 1.1 reads "on" as true


@pytest.mark.parametrize("branch", ["true", "release/1.0", "on", "1.0"])
def test_a_branch_stays_a_text(branch: str) -> None:
    assert yaml.safe_load(workflow_text(branch))[True]["push"]["branches"] == [branch]
