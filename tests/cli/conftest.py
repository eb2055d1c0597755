"""The commands against a stand-in for the engine and the rules: what is tested here is the command line itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from template_lint.config import Options
from template_lint.errors import UsageError
from template_lint.model import Report, Severity
from tests.report.samples import SOURCE, file_target, prefix_finding, report, template_report


@dataclass
class Engine:
    """Answers every check with ``report``, or raises it; remembers what it was asked."""

    report: Report | BaseException
    asked: list[tuple[Sequence[str], Options]] = field(default_factory=list)

    def check(self, targets: Sequence[str], options: Options, *, progress: Any = None) -> Report:
        self.asked.append((tuple(targets), options))
        if isinstance(self.report, BaseException):
            raise self.report
        if "." in targets or len(self.report.targets) != len(targets):
            return self.report
        renamed = [report._replace(target=target) for report, target in zip(self.report.targets, targets, strict=True)]
        return self.report._replace(targets=renamed)

    @property
    def options(self) -> Options:
        return self.asked[-1][1]


@dataclass(frozen=True)
class Example:
    name: str
    source: str


class _Rule:
    stage = "template"

    @staticmethod
    def transcript() -> None:
        return None


class ToolPrefix(_Rule):
    """Appending tool results rewrites earlier text.

    What: two renders are compared, that of the conversation up to the call and that of the conversation with the
    results of the tools.

    How to fix:
    - do not look ahead with ``loop.last``
    """

    code, name, severity, needs = "TL101", "tool-prefix", Severity.ERROR, ("template", "syntax", "tools")

    @staticmethod
    def examples() -> list[Example]:
        return [Example("bad.jinja", SOURCE), Example("good.jinja", "{{ messages }}\x1b\n")]


class PrefixTokens(_Rule):
    """Text prefix holds, ids do not."""

    code, name, severity, needs = "TL102", "tool-prefix-tokens", Severity.ERROR, ("tools", "tokenizer")

    @staticmethod
    def examples() -> list[Example]:
        return []


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    stand_in = Engine(report(file_target(template_report())))
    _install(monkeypatch, "template_lint.engine", check=stand_in.check)
    return stand_in


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {rule.code: rule for rule in (ToolPrefix, PrefixTokens)}

    def select(select: Sequence[str], ignore: Sequence[str]) -> list[str]:
        for word in [*select, *ignore]:
            if not any(code.startswith(word) or rule.name == word for code, rule in known.items()):
                raise UsageError(f"no rule {word!r}. Did you mean TL101?")
        return [
            code
            for code, rule in known.items()
            if any(code.startswith(word) or rule.name == word for word in select or ["TL"])
            and not any(code.startswith(word) or rule.name == word for word in ignore)
        ]

    def find_rule(text: str) -> type:
        for code, rule in known.items():
            if text in (code, rule.name):
                return rule
        raise UsageError(f"unknown rule {text!r}. Did you mean TL101?")

    _install(
        monkeypatch,
        "template_lint.rules.registry",
        all_rules=lambda: list(known.values()),
        rule_names=lambda: {code: rule.name for code, rule in known.items()},
        find_rule=find_rule,
        select=select,
        Example=Example,
    )


def _install(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command line and return its exit code, stdout and stderr."""
    for variable in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TEMPLATE_LINT_DEBUG"):
        monkeypatch.delenv(variable, raising=False)

    def call(*args: str, stdin: str | bytes | None = None, **env: str) -> Result:
        return CliRunner().invoke(program, args, input=stdin, env=env, prog_name="template-lint")

    return call


@pytest.fixture
def broken() -> Report:
    """A report with one error."""
    return report(file_target(template_report(prefix_finding())))
