import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from template_lint.cli.check import exit_code
from template_lint.errors import CannotCheckError, UsageError
from template_lint.model import Report, Severity
from tests.cli.conftest import Engine
from tests.report.samples import file_target, prefix_finding, report, template_report, unchecked

Run = Callable[..., Result]


def test_options_reach_the_engine(run: Run, engine: Engine, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text("{}")
    result = run(
        *("check", "a.jinja", "b", "--select", "TL1, tool-prefix", "--ignore", "TL102", "--fail-on", "warning"),
        *("--transformers", "4.57", "--tokenizer", "tok", "--conversations", str(own), "--require", "tools"),
        *("--jobs", "3", "--offline", "--no-cache"),
    )
    assert result.exit_code == 0, result.output
    targets, options = engine.asked[0]
    assert targets == ("a.jinja", "b")
    assert options.select == ("TL1", "tool-prefix")
    assert options.ignore == ("TL102",)
    assert options.fail_on is Severity.WARNING
    assert (options.transformers, options.tokenizer) == ("4.57", "tok")
    assert options.conversations == (own,)
    assert options.require == {"tools"}
    assert (options.jobs, options.offline, options.cache) == (3, True, False)


def test_no_target_means_the_current_folder(run: Run, engine: Engine) -> None:
    run("check")
    assert engine.asked[0][0] == (".",)


def test_fail_on_never(run: Run, engine: Engine, broken: Report) -> None:
    engine.report = broken
    assert run("check").exit_code == 1
    assert run("check", "--fail-on", "never").exit_code == 0
    assert engine.options.fail_on is None


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.ERROR, Severity.ERROR, 1),
        (Severity.WARNING, Severity.ERROR, 0),
        (Severity.WARNING, Severity.WARNING, 1),
        (Severity.INFO, Severity.WARNING, 0),
        (Severity.INFO, Severity.INFO, 1),
        (Severity.ERROR, None, 0),
    ],
)
def test_exit_code_of_findings(severity: Severity, fail_on: Severity | None, code: int) -> None:
    assert exit_code(report(file_target(template_report(prefix_finding(severity=severity)))), fail_on) == code


def test_exit_code_of_what_was_not_checked(broken: Report) -> None:
    assert exit_code(report(), Severity.ERROR) == 3
    assert exit_code(report(unchecked()), Severity.ERROR) == 3
    assert exit_code(report(unchecked()), None) == 3
    assert exit_code(broken._replace(targets=[*broken.targets, unchecked()]), Severity.ERROR) == 1


def test_suppressed_findings_do_not_fail() -> None:
    hidden = prefix_finding(suppressed="inline")
    assert exit_code(report(file_target(template_report(hidden))), Severity.INFO) == 0


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("no such file: 'x'. Check the path."), 2, "template-lint: no such file: 'x'. Check the path.\n"),
        (CannotCheckError("acme/x is gated.\x1b"), 3, "template-lint: acme/x is gated.\\x1b\n"),
        (
            KeyError("oops\n"),
            2,
            "template-lint: internal error: KeyError: 'oops\\n'. Set TEMPLATE_LINT_DEBUG=1 for the traceback, "
            "and please report it.\n",
        ),
        (KeyboardInterrupt(), 130, "template-lint: interrupted\n"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_failures_are_one_line_and_never_exit_1(
    run: Run, engine: Engine, error: BaseException, code: int, line: str
) -> None:
    engine.report = error
    result = run("check", "x")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", line)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ("[text, jsn]", "unknown output format 'jsn'. Did you mean json?"),
        ("[json=missing/a.json]", "cannot write a file there."),
        ("[text, json]", "two outputs go to standard output."),
    ],
)
def test_a_wrong_output_of_the_configuration_is_told_with_its_line(
    run: Run, engine: Engine, tmp_path: Path, outputs: str, message: str
) -> None:
    file = tmp_path / "template-lint.yaml"
    file.write_text(f"fail-on: error\noutput: {outputs}\n")
    result = run("check", "x", "--config", str(file))
    assert result.exit_code == 2
    assert "template-lint.yaml:2: " in result.stderr and message in result.stderr
    assert not engine.asked


def test_traceback_for_who_asks(run: Run, engine: Engine) -> None:
    engine.report = KeyError("oops")
    for result in (run("--debug", "check"), run("check", TEMPLATE_LINT_DEBUG="1")):
        assert result.exit_code == 2
        assert "Traceback" in result.stderr
        assert "in check" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--output", "xml"], "unknown output format 'xml'. Choose one of: "),
        (["--output", "jsn"], "unknown output format 'jsn'. Did you mean json? Choose one of: "),
        (["--output", "text", "--output", "json"], "two outputs go to standard output."),
        (["--output", "json=a.json", "--output", "text=a.json"], "two outputs go to a.json."),
        (["--output", "json=missing/a.json"], "cannot write a file there."),
        (["--output", "json="], "cannot write a file there."),
        (["--select", "TL101", "--ignore", "tool-prefix"], "tool-prefix is both selected (as TL101) and ignored."),
        (["--fail-on", "sometimes"], "'sometimes' is not one of"),
        (["--conversations", "missing.jsonl"], "'missing.jsonl' does not exist"),
        (["--jobs", "-1"], "-1 is not in the range"),
        (["--selct", "TL101"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(run: Run, engine: Engine, args: list[str], message: str) -> None:
    result = run("check", *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not engine.asked


def test_prefix_and_exception_do_not_conflict(run: Run, engine: Engine) -> None:
    assert run("check", "--select", "TL1", "--ignore", "TL101").exit_code == 0


def test_outputs_to_files_and_stdout(run: Run, engine: Engine, broken: Report, tmp_path: Path) -> None:
    engine.report = broken
    file = tmp_path / "report.json"
    file.write_text("old")
    result = run("check", "--output", "concise", "--output", f"json={file}")
    assert result.exit_code == 1
    assert result.stdout.startswith("chat_template.jinja:3:44: TL101 error ")
    assert result.stderr == "checked 1 template: 1 error (transformers 5.24)\n"
    assert json.loads(file.read_text())["summary"]["errors"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_text_on_stdout_needs_no_talk(run: Run, engine: Engine) -> None:
    result = run("check")
    assert result.stdout.endswith("checked 1 template: no findings (transformers 5.24)\n")
    assert result.stderr == ""


def test_unchecked_targets_are_talked_about(run: Run, engine: Engine) -> None:
    engine.report = report(unchecked())
    result = run("check", "-o", "concise")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("not checked: acme/gated: access is restricted.")


def test_a_failed_run_leaves_the_old_file(run: Run, engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("old")
    engine.report = RuntimeError("half-way")
    run("check", "--output", f"json={file}")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_force_color(run: Run, engine: Engine) -> None:
    assert "\x1b[" in run("check", FORCE_COLOR="1").stdout
    assert "\x1b[" not in run("check", FORCE_COLOR="1", NO_COLOR="1").stdout


def test_the_card_is_printed_where_it_is_asked_for(run: Run, engine: Engine) -> None:
    card = {
        "tools": True,
        "tool_calls": True,
        "tool_results": True,
        "parallel_tool_calls": False,
        "call_shapes": [{"arguments": "mapping", "empty": "string"}],
        "call_ids": {"in_prompt": True, "refused": {"example": "x", "length": 1, "message": "nine!"}},
        "system": True,
        "developer": False,
        "reasoning": True,
        "reasoning_keys": ["reasoning_content"],
        "reasoning_retention": "tool_cycle",
        "switch_effects": [],
        "template_kwargs": ["enable_thinking"],
        "generation_markers": False,
    }
    engine.report = report(file_target(template_report(capabilities=card)))
    printed = run("check", "chat_template.jinja", "--card").stdout
    assert "what it can render" in printed
    assert "refuses one of 1 characters: nine!" in printed
    assert "reasoning_content; stays until the next user turn" in printed
    assert "what it can render" not in run("check", "chat_template.jinja").stdout
