import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import Engine
from tests.report.samples import expect, file_target, prefix_finding, report, template_report

Run = Callable[..., Result]
HERE = Path(__file__).parent


def test_rules(run: Run) -> None:
    assert run("rules").stdout == (
        "code   name                severity  needs             finds\n"
        "TL101  tool-prefix         error     tools             Appending tool results rewrites earlier text.\n"
        "TL102  tool-prefix-tokens  error     tools, tokenizer  Text prefix holds, ids do not.\n"
    )


def test_rules_as_json(run: Run) -> None:
    assert json.loads(run("rules", "-o", "json").stdout)[0] == {
        "code": "TL101",
        "name": "tool-prefix",
        "severity": "error",
        "needs": ["template", "syntax", "tools"],
        "summary": "Appending tool results rewrites earlier text.",
    }


@pytest.mark.parametrize("name", ["TL101", "tool-prefix"])
def test_explain(run: Run, engine: Engine, name: str) -> None:
    engine.report = report(
        file_target(template_report(prefix_finding()), name="bad.jinja"),
        file_target(template_report(), name="good.jinja"),
    )
    result = run("explain", name)
    assert result.exit_code == 0, result.stderr
    expect(HERE, "explain.txt", result.stdout)
    assert engine.options.select == ("TL101",)
    assert [Path(target).name for target in engine.asked[0][0]] == ["bad.jinja", "good.jinja"]


def test_explain_a_rule_without_examples(run: Run, engine: Engine) -> None:
    assert run("explain", "TL102").stdout == (
        "TL102 tool-prefix-tokens (error, needs tools, tokenizer)\n\nText prefix holds, ids do not.\n"
    )
    assert not engine.asked


def test_explain_an_unknown_rule(run: Run) -> None:
    result = run("explain", "TL110")
    assert result.exit_code == 2
    assert result.stderr == "template-lint: unknown rule 'TL110'. Did you mean TL101?\n"
