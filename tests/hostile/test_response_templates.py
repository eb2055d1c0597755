"""A response_template is written by a stranger: whatever it holds, a check ends in time and says what is wrong."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from template_lint.config import Options
from template_lint.engine import check
from template_lint.model import Finding, Report
from template_lint.rules.registry import find_rule
from tests.rules.helper import inspect

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds on memory and processor time need Linux")
pytest.importorskip("transformers.utils.chat_parsing", reason="transformers 5.13 or newer")

EXAMPLE = next(example for example in find_rule("TL208").examples() if example.name == "good_parser")
GOOD: dict[str, Any] = json.loads(EXAMPLE.files["tokenizer_config.json"])["response_template"]


def calls(**keys: Any) -> dict[str, Any]:
    changed = copy.deepcopy(GOOD)
    changed["fields"]["tool_calls"].update(keys)
    return changed


def nested(depth: int) -> Any:
    value: Any = "{content}"
    for _ in range(depth):
        value = [value]
    return value


ZERO_WIDTH = {"open_pattern": "(?=.)", "close_pattern": "(?=.)", "repeats": True}
HOSTILE: dict[str, tuple[Any, str]] = {
    "backtracking": (
        {**GOOD, "fields": {"content": {"open_pattern": "(?:z|.)((?:.|.)*)*?(?<=qqq)x", "close": "<|end|>"}}},
        "stopped: time limit",
    ),
    "endless": ({**GOOD, "fields": {"tool_calls": ZERO_WIDTH, "content": {}}}, "stopped: time limit"),
    # Memory, or time where the machine is slow to give it.
    "huge-regex": (calls(open_pattern="a{4000000000}"), "stopped: "),
    "much-from-little": (
        calls(transform={"function": {"name": "x", "arguments": ["{content}"] * 300_000}}),
        "stopped: output limit",
    ),
    "nested": (calls(transform=nested(80)), "the calls come back as '[["),
    "unclosed-group": (calls(open_pattern="(("), "refuses it: "),
    "deep-group": (calls(open_pattern="(?:" * 3000 + ")" * 3000), "refuses it: RecursionError"),
    "content-args": (calls(content_args="nonsense"), "raises AttributeError"),
    "delimiters": (calls(content_args={"string_delims": [["a"]]}), "raises ValueError"),
    "no-list": ({**GOOD, "defaults": {"tool_calls": "x"}}, "the calls come back as one value"),
    "odd-role": ({**GOOD, "defaults": {"role": {"a": 5}}}, "the role comes back as"),
    "surrogate": ({**GOOD, "\ud800\x1b[31m": 1}, "Unknown keys in response_template"),
    "long-key": ({**GOOD, "k" * 1_000_000: 1}, "Unknown keys in response_template"),
}
BEYOND = {"too-deep": {**GOOD, "defaults": {"x": nested(900)}}}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    root = tmp_path_factory.mktemp("models")
    for name, template in {**{name: template for name, (template, _) in HOSTILE.items()}, **BEYOND}.items():
        (root / name).mkdir()
        (root / name / "chat_template.jinja").write_text(EXAMPLE.files["chat_template.jinja"], encoding="utf-8")
        config = json.dumps({"eos_token": "<|end|>", "response_template": template})
        (root / name / "tokenizer_config.json").write_text(config, encoding="utf-8")
    options = Options(transformers="5.24", cache=False, jobs=1, select=("TL208", "TL508"))
    return check([str(root / name) for name in (*HOSTILE, *BEYOND)], options)


def findings(report: Report, name: str) -> list[Finding]:
    [target] = [target for target in report.targets if Path(target.target).name == name]
    [template] = target.templates
    return template.findings


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_said_what_is_wrong(name: str, report: Report) -> None:
    found = findings(report, name)
    assert found
    assert {finding.rule for finding in found} == {"TL208"}
    assert any(HOSTILE[name][1] in finding.message for finding in found), [finding.message for finding in found]
    for finding in found:
        assert len(finding.message) < 500
        assert finding.message.isprintable()
        assert len(json.dumps(finding.evidence)) < 8_000


def test_a_config_that_no_worker_can_be_given_is_not_checked(report: Report) -> None:
    [target] = [target for target in report.targets if Path(target.target).name == "too-deep"]
    assert target.error is not None
    assert target.error.message == "tokenizer_config.json is nested too deeply to be read. Repair the file."


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["{content}", "{content.name}", "", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["function", "name", "x"]), inner),
    max_leaves=8,
)
MARKS = st.sampled_from(["<call>", "</call>", "<|end|>", "\n", "zq", "{", "}"])
PARSERS = ("text", "int", "float", "bool", "json", "xml-inline", "kv-lines", "python-call-list")
FIELD = st.fixed_dictionaries(
    {},
    optional={
        "open": MARKS | st.lists(MARKS, max_size=3) | JSON,
        "close": MARKS | st.lists(MARKS, max_size=3) | JSON,
        "content": st.sampled_from(PARSERS) | JSON,
        "content_args": st.dictionaries(st.sampled_from(["string_delims", "strip", "value_parser", "kv_sep"]), JSON)
        | JSON,
        "repeats": JSON,
        "join": JSON,
        "optional": JSON,
        "transform": JSON,
        "transform_each": JSON,
    },
)
NAMES = st.sampled_from(["tool_calls", "content", "reasoning_content", "thinking", "role", "other"])
TEMPLATES = st.fixed_dictionaries(
    {"start_anchor": MARKS, "fields": st.dictionaries(NAMES, FIELD, min_size=1, max_size=4)},
    optional={"defaults": st.dictionaries(NAMES, JSON), "version": st.just(1) | JSON},
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(template=TEMPLATES | JSON)
def test_no_response_template_lets_an_exception_escape(template: Any) -> None:
    """No patterns here, only literals: this process has no bounds."""
    report = inspect(EXAMPLE.files["chat_template.jinja"], codes=("TL208",), config={"response_template": template})
    for finding in report.findings:
        assert finding.message.isprintable()
        json.dumps(finding.evidence)
    if template is not None and not report.findings:
        assert not report.skipped  # it reads everything back
