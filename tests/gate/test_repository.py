"""A repository with a gate, as people use it: settings, exit codes, the baseline, what is said when it is wrong."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import template_lint
from template_lint.cli.check import command
from template_lint.cli.support.program import program
from template_lint.errors import UsageError
from template_lint.settings import read_settings
from template_lint.settings.table import KEYS
from tests.facts.helper import END, STABLE, TURN

ROOT = Path(__file__).parents[2]
BROKEN = TURN + "{% if loop.last %}</s>{% endif %}" + END
WORSE = TURN + "{% if loop.last %}</s>{% endif %}{% if messages[-1].role == 'tool' %}!{% endif %}" + END
Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"
    (root / "templates").mkdir(parents=True)
    (root / "templates" / "good.jinja").write_text(STABLE)
    (root / "templates" / "bad.jinja").write_text(BROKEN)
    (root / "template-lint.yaml").write_text(
        "targets: [templates/]\ntransformers: '5.24'\njobs: 1\nselect: [TL101, TL102]\n"
    )
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run() -> Run:
    def call(*args: str, stdin: str | None = None, **env: str) -> Result:
        return CliRunner().invoke(program, args, input=stdin, env=env, prog_name="template-lint")

    return call


def summary(result: Result) -> dict[str, int]:
    return json.loads(result.stdout)["summary"]


def test_the_configuration_says_what_to_check(run: Run) -> None:
    result = run("check", "-o", "concise")
    assert result.exit_code == 1
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["templates/bad.jinja"]
    assert "checked 2 templates: 1 error" in result.stderr


def test_it_is_found_from_a_folder_below(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("templates")
    result = run("check", "-o", "concise")
    assert result.stdout.startswith("bad.jinja:1:")


def test_every_setting_has_an_option_of_its_name() -> None:
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for key in KEYS:
        assert key.name == "targets" or f"--{key.name}" in options


def test_isolated_reads_nothing(run: Run) -> None:
    assert run("check", "templates/bad.jinja", "--isolated", "--select", "TL200", "--jobs", "1").exit_code == 0
    assert "exclude each other" in run("check", "--isolated", "--config", "template-lint.yaml").stderr


def test_the_command_line_goes_over_the_file(run: Run) -> None:
    shown = run("check", "--show-settings", "--fail-on", "never", "--extend-ignore", "TL107", "--no-cache").stdout
    rows = {line.split()[0]: re.split(r" {2,}", line)[1:] for line in shown.splitlines()}
    assert rows["fail-on"] == ["--fail-on", "never"]
    assert rows["select"] == ["template-lint.yaml:4", "TL101, TL102"]
    assert rows["extend-ignore"] == ["--extend-ignore", "TL107"]
    assert rows["cache"] == ["--no-cache", "false"]
    assert rows["baseline"] == ["default", "none"]
    assert run("check", "--fail-on", "never").exit_code == 0


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ("failon: error\n", [], "template-lint.yaml:1: unknown key 'failon'. Did you mean fail-on?"),
        ("select: [TL999]\n", [], "template-lint.yaml:1: unknown rule 'TL999'."),
        (None, ["--config", "no.yaml"], "there is no configuration no.yaml. `template-lint init` writes one."),
        (None, ["--baseline", "no.json"], "there is no baseline no.json. Write it with --baseline no.json --update"),
        (None, ["--update-baseline"], "--update-baseline needs to know the file. Give --baseline FILE"),
        (None, ["--update-baseline", "--prune-baseline"], "exclude each other"),
        (None, ["--min-severity", "error", "--fail-on", "warning"], "min-severity error would hide what fail-on"),
        (None, ["--severity", "TL101"], "--severity TL101: write RULE=SEVERITY, with one of error, warning, info."),
        (None, ["--severity", "TL999=info"], "unknown rule 'TL999'."),
        (None, ["--require", "speed"], "'speed' is not one of"),
        (None, ["--select", "TL107", "--extend-ignore", "TL1"], "every rule that is selected is also ignored"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_2(run: Run, text: str | None, args: list[str], message: str) -> None:
    if text is not None:
        Path("template-lint.yaml").write_text(text)
    result = run("check", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_severity_and_a_threshold(run: Run) -> None:
    mild = run("check", "--severity", "tool-prefix=warning", "-o", "json")
    assert mild.exit_code == 0
    assert summary(mild)["warnings"] == 1
    hidden = run("check", "--severity", "TL101=warning", "--min-severity", "error")
    assert hidden.exit_code == 0
    assert "TL101" not in re.sub("not checked.*", "", hidden.stdout)
    assert "1 finding below --min-severity" in hidden.stdout


def test_statistics(run: Run) -> None:
    text = run("check", "--statistics").stdout
    assert re.search(r"^findings +rule +name\n +1 +TL101 +tool-prefix\n", text, re.MULTILINE)
    assert summary(run("check", "--statistics", "-o", "json"))["by_rule"] == {"TL101": 1}
    assert "by_rule" not in summary(run("check", "-o", "json"))


def test_an_ignore_of_a_target_holds_for_a_file_that_is_named(run: Run) -> None:
    ignore = "  ignore:\n  - rules: [TL101]\n    reason: known\n"
    Path("template-lint.yaml").write_text(
        f"targets:\n- target: templates/\n{ignore}jobs: 1\nselect: [TL101, TL102, TL9]\n"
    )
    for args in ([], ["templates/bad.jinja"], [str(Path("templates/bad.jinja").absolute())]):
        result = run("check", *args, "-o", "json")
        assert result.exit_code == 0, args
        assert summary(result)["suppressed_by"] == {"inline": 0, "config": 1, "baseline": 0}
    Path("templates/bad.jinja").write_text(STABLE)
    stale = run("check", "-o", "concise")
    assert "TL901 warning the configuration ignores TL101 in templates (template-lint.yaml:4)" in stale.stdout
    assert "TL901" not in run("check", "templates/bad.jinja", "-o", "concise").stdout


def test_excluded_paths(run: Run) -> None:
    with Path("template-lint.yaml").open("a") as file:
        file.write("exclude: [bad.jinja]\n")
    result = run("check")
    assert result.exit_code == 0
    assert "1 path excluded" in result.stdout
    assert run("check", "templates/bad.jinja").exit_code == 1
    forced = run("check", "templates/bad.jinja", "--force-exclude")
    assert forced.exit_code == 0
    assert "checked 0 templates: no findings; 1 path excluded" in forced.stdout


def test_the_life_of_a_baseline(run: Run, repository: Path) -> None:
    known = ("--baseline", "known.json")
    first = run("check", *known, "--update-baseline")
    assert first.exit_code == 0
    assert first.stderr == "known.json: 1 finding (1 added, 0 removed)\n"
    written = Path("known.json").read_bytes()
    assert str(repository).encode() not in written

    second = run("check", *known)
    assert second.exit_code == 0
    assert "2 templates: no findings; 1 finding suppressed (baseline)" in second.stdout

    Path("templates/good.jinja").write_text(BROKEN)
    red = run("check", *known, "-o", "concise")
    assert red.exit_code == 1
    assert [line.split(":")[0] for line in red.stdout.splitlines()] == ["templates/good.jinja"]

    Path("templates/good.jinja").write_text(STABLE)
    Path("templates/bad.jinja").write_text("\n\n" + BROKEN)
    assert run("check", *known).exit_code == 0  # the same finding on another line

    Path("templates/bad.jinja").write_text(STABLE)
    fixed = run("check", *known)
    assert "note: 1 finding of known.json is there no more; --prune-baseline removes it" in fixed.stdout
    assert run("check", "templates/good.jinja", *known).stdout.count("no more") == 0
    assert run("check", *known, "--prune-baseline").stderr == "known.json: 0 findings (0 added, 1 removed)\n"
    assert json.loads(Path("known.json").read_text()) == {"version": 1, "findings": []}

    Path("templates/bad.jinja").write_text(BROKEN)
    assert run("check", *known).exit_code == 1
    assert run("check", *known, "--update-baseline").exit_code == 0
    assert Path("known.json").read_bytes() == written
    before = Path("known.json").stat().st_mtime_ns
    run("check", *known, "--update-baseline")
    assert Path("known.json").stat().st_mtime_ns == before


def test_part_of_a_repository_updates_its_part_of_the_baseline(run: Run) -> None:
    Path("templates/other.jinja").write_text(BROKEN)
    known = ("--baseline", "known.json", "--update-baseline")
    run("check", *known)
    whole = Path("known.json").read_bytes()
    run("check", "templates/other.jinja", *known)
    assert Path("known.json").read_bytes() == whole
    run("check", "--select", "TL102", *known)
    assert Path("known.json").read_bytes() == whole


def test_the_cache_keeps_findings_not_what_hides_them(run: Run) -> None:
    assert run("check").exit_code == 1
    assert run("check", "--baseline", "known.json", "--update-baseline").exit_code == 0
    assert run("check").exit_code == 1
    assert run("check", "--severity", "TL101=info").exit_code == 0
    assert run("check").exit_code == 1


def test_inline_ignores_on_standard_input(run: Run) -> None:
    source = "{# template-lint: ignore-file[TL101] fine here #}\n" + BROKEN
    result = run("check", "-", stdin=source)
    assert result.exit_code == 0
    assert "1 finding suppressed (inline)" in result.stdout
    assert run("check", "-", "--no-inline-ignores", stdin=source).exit_code == 1


def test_a_template_that_refuses_every_tool_conversation_is_not_called_ok(run: Run) -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
        "<|{{ m.role }}|>{{ m.content or '' }}<|end|>{% endfor %}{% if tools %}{{ raise_exception('no') }}{% endif %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    result = run("check", "-", "--min-severity", "error", stdin=source)
    assert result.exit_code == 3
    assert result.stdout.startswith("NOT CHECKED <stdin>  renders no tool conversation: ")
    assert "1 template renders no tool conversation" in " ".join(result.stdout.split())
    result = run("check", "-", "-o", "concise", stdin=source)
    assert "exclude it if it is not meant for tools" in result.stderr


def test_a_template_whose_error_is_accepted_was_looked_at(run: Run) -> None:
    Path("templates/bad.jinja").write_text("{% if %}")
    Path("template-lint.yaml").write_text("targets: [templates/]\njobs: 1\n")
    result = run("check", "-o", "concise")
    assert result.exit_code == 1
    assert "1 template renders no conversation" in result.stderr
    assert run("check", "--ignore", "TL002", "-o", "concise").exit_code == 3
    known = ("--baseline", "known.json")
    assert run("check", *known, "--update-baseline").exit_code == 0
    assert run("check", *known).exit_code == 0


def test_the_python_api_reads_a_configuration() -> None:
    report = template_lint.check(config="template-lint.yaml")
    assert [finding.rule for finding in report.findings] == ["TL101"]
    mild = template_lint.check("templates/bad.jinja", config=Path("template-lint.yaml"), extend_ignore=("TL101",))
    assert not mild.findings
    with pytest.raises(UsageError, match="no target is given"):
        template_lint.check()
    alone = template_lint.check("templates/good.jinja", jobs=1)  # no file is looked for
    assert "TL200" in alone.targets[0].templates[0].checked


def program_run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    code = "from template_lint.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "40"},
        timeout=120,
    )


def test_the_settings_fit_a_pipe_that_closes_early() -> None:
    code = "from template_lint.cli import main; main()"
    shell = f'"{sys.executable}" -c "{code}" check --show-settings | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].startswith("setting")
    assert done.stdout.splitlines()[-1] == "0"


def test_a_narrow_terminal_gets_narrow_lines() -> None:
    done = program_run("check", "--statistics")
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= 40
    assert "\x1b" not in done.stdout


def test_the_examples_of_the_documentation_are_right(tmp_path: Path) -> None:
    for page in ("configuration.md", "suppression.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8").split("## Keys")[0]
        blocks = re.findall(r"```(yaml|toml)\n(.*?)```", text, re.DOTALL)
        assert blocks
        (tmp_path / "templates").mkdir(exist_ok=True)
        (tmp_path / "models" / "chat-only").mkdir(parents=True, exist_ok=True)
        for language, block in blocks:
            file = tmp_path / f"example.{language}"
            file.write_text(block)
            assert read_settings(file).targets


def test_the_comment_of_the_documentation_hides_what_it_says() -> None:
    text = (ROOT / "docs" / "suppression.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```jinja\n(.*?)```", text, re.DOTALL)
    source = (
        "{%- for message in messages %}\n{{- message.role ~ (message.content or '') }}\n" + block + "{%- endfor %}\n"
    )
    Path("templates/bad.jinja").write_text(source)
    report = template_lint.check("templates/bad.jinja", select=("TL101",), require=frozenset({"tools"}), jobs=1)
    assert {finding.suppressed for finding in report.findings if finding.rule == "TL101"} == {"inline"}
