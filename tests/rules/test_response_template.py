"""TL208 with the model's own parser: what comes back wrong, what cannot be applied, and what is not asked."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from template_lint.facts import TemplateFacts
from template_lint.facts.finished_turns import Message, finished_turn
from template_lint.facts.probes import CALL, CALL_NAME, TOOL
from template_lint.facts.response_parser import ResponseParser
from template_lint.model import Finding, Severity
from template_lint.rendering.profiles import parse_profile
from template_lint.rules.registry import find_rule
from template_lint.rules.tl2_messages.tl208_call_round_trip.read_back import differences
from tests.rules.helper import check_rule, excerpt, inspect, skip_reason

chat_parsing = pytest.importorskip("transformers.utils.chat_parsing", reason="transformers 5.13 or newer")

EXAMPLE = next(example for example in find_rule("TL208").examples() if example.name == "good_parser")
SOURCE = EXAMPLE.files["chat_template.jinja"]
CONFIG: dict[str, Any] = json.loads(EXAMPLE.files["tokenizer_config.json"])
THINKING = SOURCE.replace(
    "{{- message.content or '' }}",
    "{%- if message.thinking %}{{- '<think>' + message.thinking + '</think>' }}{%- endif %}"
    "{{- message.content or '' }}",
)
CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>"
CHAT = CHAT.replace("<|assistant|>", "{% if add_generation_prompt %}<|assistant|>{% endif %}")
ANSWERS = {"start_anchor": "<|assistant|>", "fields": {"content": {"close": "<|end|>"}}}


def edited(**fields: dict[str, Any] | None) -> dict[str, Any]:
    """The config of the good example with other keys in some fields of its response template; None takes one out."""
    config = copy.deepcopy(CONFIG)
    found = config["response_template"]["fields"]
    for name, change in fields.items():
        found[name] = None if change is None else {**found.get(name, {}), **change}
        found[name] = {key: value for key, value in (found[name] or {}).items() if value is not None}
        if change is None:
            del found[name]
    return config


def only(source: str, config: dict[str, Any], **options: Any) -> Finding:
    [finding] = check_rule("TL208", source, config=config, **options)
    return finding


def test_what_comes_back_is_no_finding() -> None:
    assert check_rule("TL208", SOURCE, config=CONFIG) == []
    thinking = edited(reasoning_content={"open": "<think>", "close": "</think>"})
    assert check_rule("TL208", THINKING, config=thinking) == []


MISREAD = {
    "no repeats": ({"tool_calls": {"repeats": False}}, "tool_calls", "the calls come back as one value"),
    "other mark": ({"tool_calls": {"open_pattern": "<tool>"}}, "tool_calls", "1 call was sent, none came back"),
    "no end": ({"tool_calls": {"close": None, "content": "text", "transform": None}}, "tool_calls", "come back as"),
    "one call only": (
        {"tool_calls": {"open_pattern": "(?<!</call>\\n)<call>"}},
        "tool_calls",
        "2 calls were sent, 1 came back",
    ),
    "other name": (
        {"tool_calls": {"transform": {"function": {"name": "tide", "arguments": {}}}}},
        "name",
        f"the function '{CALL_NAME}' comes back as 'tide'",
    ),
    "no arguments": (
        {"tool_calls": {"transform": {"function": {"name": CALL_NAME}}}},
        "arguments",
        "the arguments come back as 'null', not as a mapping",
    ),
    "one level too many": (
        {"tool_calls": {"transform": {"function": {"name": CALL_NAME, "arguments": "{content}"}}}},
        "arguments",
        "the argument 'zqkey': '\"zqargument\"' is missing",
    ),
    "added": (
        {
            "tool_calls": {
                "content": "xml-inline",
                "content_args": {"tag_pattern": '"(?P<key>zqkey|zqother|name)": "(?P<value>[^"]*)"'},
                "transform": {"function": {"name": CALL_NAME, "arguments": "{content}"}},
            }
        },
        "arguments",
        "an argument 'name' comes back that was not sent",
    ),
    "cut short": (
        {"content": {"close": None, "close_pattern": "reply.*"}},
        "content",
        "the content 'zqreply' comes back as 'zq'",
    ),
    "no content": ({"content": None}, "content", "the content 'zqreply' is missing"),
    "as reasoning": ({"content": None, "thinking": {"close": "<|end|>"}}, "thinking", "comes back as reasoning"),
    "raises": ({"tool_calls": {"close": "}"}}, "raised", "the parser raises ValueError: json parser could not parse"),
    "content_args": ({"tool_calls": {"content_args": 5}}, "raised", "the parser raises AttributeError: 'int' object"),
}


@pytest.mark.parametrize("name", MISREAD)
def test_misread(name: str) -> None:
    change, field, words = MISREAD[name]
    found = check_rule("TL208", SOURCE, config=edited(**change))
    fields = {finding.evidence["field"]: finding for finding in found}
    assert field in fields
    finding = fields[field]
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("response_template misreads ")
    assert words in finding.message
    assert finding.evidence["parser"].startswith("transformers 5.")
    assert finding.remedy.startswith("Let response_template in tokenizer_config.json read back ")


def test_a_finding_points_at_what_prints_the_field() -> None:
    pasted = SOURCE.replace(
        "call.function | tojson", """'{"name": "' + call.function.name + '", "arguments": ' + args(call) + '}'"""
    )
    macro = "{%- macro args(call) %}{{ call.function.arguments | tojson | replace('75001\"', '75\"') }}{% endmacro %}"
    source = f"{macro}\n{pasted}"
    finding = only(source, CONFIG)
    assert finding.evidence["field"] == "arguments"
    assert finding.evidence["lost"] == ["zqdigits"]
    assert (finding.evidence["sent"], finding.evidence["read"]) == ('"75001"', '"75"')
    assert "call" in excerpt(source, finding)


def test_one_finding_for_each_field_names_the_other_turns() -> None:
    finding = only(SOURCE, edited(tool_calls={"open_pattern": "<tool>"}))
    assert finding.evidence["conversation"] == "a call"
    assert "two calls in one turn" in finding.evidence["also"]
    assert len(finding.evidence["differences"]) == 2  # the call is content now


def test_white_space_between_calls_takes_the_place_of_the_content() -> None:
    finding = only(SOURCE, edited(tool_calls={"open_pattern": None, "open": "<call>"}))
    assert finding.message == "response_template misreads two calls after content: the content 'zqbeside' is missing"


def test_the_argument_that_the_parser_cannot_read() -> None:
    source = SOURCE.replace("call.function | tojson", "call.function | tojson | replace(': null', ': nil')")
    finding = only(source, CONFIG)
    assert finding.evidence["field"] == "raised"
    assert finding.evidence["lost"] == ["zqnull"]
    assert "the argument 'zqnull': 'null' makes the parser raise ValueError: json parser" in finding.message


def test_an_argument_that_the_template_leaves_out_is_not_the_parsers() -> None:
    arguments = "call.function.arguments"
    lean = f"{arguments} | items | rejectattr('1', 'none') | list"
    source = SOURCE.replace(
        "call.function | tojson", f"{{'name': call.function.name, 'arguments': dict({lean})}} | tojson"
    )
    assert check_rule("TL208", source, config=CONFIG, transformers="5.20") == []


def test_types_come_from_the_tools() -> None:
    xml = SOURCE.replace(
        "call.function | tojson",
        "call.function.name + ':' + xml(call.function.arguments)",
    )
    value = "{{ v if v is string else v | tojson }}"
    source = (
        "{%- macro xml(a) %}{% for k, v in a | items %}<{{ k }}>" + value + "</{{ k }}>{% endfor %}{% endmacro %}" + xml
    )
    field: dict[str, Any] = {
        "open_pattern": "\\s*<call>(?P<name>\\w+):",
        "content": "xml-inline",
        "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</\\1>"},
        "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
    }
    assert check_rule("TL208", source, config=edited(tool_calls=field)) == []
    field["content_args"]["value_parser"] = {"name": "json", "args": {"allow_non_json": True}}
    finding = only(source, edited(tool_calls=field))
    assert finding.evidence["lost"] == ["zqdigits"]
    assert "'\"75001\"' comes back as '75001'" in finding.message


def test_reasoning_under_a_name_that_the_template_does_not_read() -> None:
    config = edited(reasoning_content={"open": "<think>", "close": "</think>"})
    finding = only(THINKING, config, transformers="5.20")
    assert finding.evidence["field"] == "reasoning"
    assert "comes back as 'reasoning_content', and the template reads 'thinking'" in finding.message
    assert check_rule("TL208", THINKING, config=config, transformers="5.21") == []


def test_another_name_that_renders_to_the_same_turn_is_information() -> None:
    source = SOURCE.replace("message.content or ''", "message.content or message.thinking or ''")
    config = edited(tool_calls={}, thinking={"open": "zqbe", "close": "side"})
    config["response_template"]["fields"]["thinking"] = {
        "open_pattern": "(?=zqbeside)",
        "close_pattern": "(?<=zqbeside)",
    }
    found = {finding.severity for finding in check_rule("TL208", source, config=config, transformers="5.20")}
    assert found == {Severity.INFO}


def test_templates_without_tools_are_asked_too() -> None:
    assert skip_reason("TL208", CHAT) == "the template knows no tools (TL200)"
    assert check_rule("TL208", CHAT, config={"response_template": ANSWERS}) == []
    wrong = {**ANSWERS, "fields": {"content": {"open": "<|answer|>", "close": "<|end|>"}}}
    assert only(CHAT, {"response_template": wrong}).evidence["field"] == "content"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (17, "ValueError: response_template must be a dict, got int"),
        ({}, "ValueError: response_template.fields must be a non-empty dict"),
        ({**ANSWERS, "colour": 1}, "ValueError: Unknown keys in response_template: ['colour']"),
        ({"fields": ANSWERS["fields"], "start_anchor_pattern": 5}, "TypeError: first argument must be a string"),
        ({**ANSWERS, "\x1b[31m\n::error::": 1}, r"['\x1b[31m\n::error::']"),
    ],
)
def test_a_template_that_transformers_refuses(template: Any, words: str) -> None:
    finding = only(SOURCE, {"response_template": template})
    assert finding.message.startswith("response_template cannot be used: transformers 5.")
    assert words in finding.message
    assert finding.message.isprintable()
    assert finding.file == "tokenizer_config.json"
    assert finding.place is None


def test_a_refused_template_leaves_the_call_to_our_grammars() -> None:
    source = SOURCE.replace("call.function | tojson", "call.function | tojson | replace('<', '\\\\u003e')")
    found = check_rule("TL208", source, config={"response_template": 17})
    assert [("grammar" in finding.evidence) for finding in found] == [False, True]


@pytest.mark.parametrize(
    ("key", "version", "reason"),
    [
        ("response_template", "4.57", "transformers 4.57 reads no response_template (5.13 and newer do)"),
        ("response_schema", "4.57", "transformers 4.57 ignores response_schema"),
        ("response_schema", "5.14", "response_schema is not applied here: only transformers 5.0 to 5.14 read it"),
        ("response_schema", "5.24", "transformers 5.24 ignores response_schema"),
    ],
)
def test_what_is_not_applied_is_said_and_our_grammars_are_asked(key: str, version: str, reason: str) -> None:
    source = SOURCE.replace("call.function | tojson", "call.function | tojson | replace('<', '\\\\u003e')")
    for template, findings in ((SOURCE, 0), (source, 1)):
        report = inspect(template, codes=("TL208",), config={key: {"fields": 1}}, transformers=version)
        assert [skip.reason.startswith(reason) for skip in report.skipped] == [True]
        assert len(report.findings) == findings


def test_null_is_no_response_template() -> None:
    assert check_rule("TL208", SOURCE, config={"response_template": None, "response_schema": None}) == []


def test_no_parser_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers.utils.chat_parsing", None)
    monkeypatch.delattr("transformers.utils.chat_parsing", raising=False)
    reason = skip_reason("TL208", SOURCE, config=CONFIG)
    assert reason is not None
    assert reason.startswith("response_template is not applied: it takes transformers 5.13 or newer, and transformers ")
    assert reason.endswith(")")
    assert " is installed (ModuleNotFoundError: " in reason


def test_turns_that_do_not_begin_with_the_prompt_are_not_judged() -> None:
    source = CHAT.replace("<|assistant|>{% endif %}", "<|assistant|><think>{% endif %}")
    wrong = {**ANSWERS, "start_anchor": "<|assistant|><think>"}
    assert skip_reason("TL208", source, config={"response_template": wrong}) == (
        "response_template is not asked: no finished turn begins with the prompt that it answers"
    )


def test_calls_that_the_parser_cannot_be_asked_about_are_left_to_our_grammars() -> None:
    source = SOURCE.replace("{{- '<|assistant|>\\n' }}", "{{- '<|assistant|>\\n' + ('<think>' if tools else '') }}")
    source = source.replace("call.function | tojson", "call.function | tojson | replace('<', '\\u003e')")
    assert "<think>" in source
    assert "grammar" in only(source, CONFIG).evidence


def test_the_white_space_and_the_text_after_the_first_stop_are_not_the_models() -> None:
    source = SOURCE + "{% if not add_generation_prompt %}{{ '<|over|>' }}{% endif %}"
    assert check_rule("TL208", source, config=CONFIG) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arguments=st.dictionaries(st.text(), JSON, max_size=5))
def test_any_json_arguments_come_back_from_the_good_example(arguments: dict[str, Any]) -> None:
    if "</call>" in json.dumps(arguments):
        return  # the only text that ends a call
    facts = TemplateFacts(SOURCE, parse_profile("5.24"))
    parser = ResponseParser(CONFIG["response_template"], chat_parsing, "5.24")
    call = {**CALL["tool_calls"][0], "function": {"name": CALL_NAME, "arguments": arguments}}
    turn = finished_turn(facts, Message("a call", {**CALL, "tool_calls": [call, call]}, [TOOL], ()))
    assert turn is not None
    parsed = parser.parse(turn.texts[0], turn.prompt, [TOOL] if "zqkey" not in arguments else [])
    assert parsed.message is not None, parsed.problem
    assert differences(turn, parsed.message, typed=True, aliased=True) == []


LOADED = """
import sys
from tests.rules.helper import inspect
inspect({source!r}, config={config!r})
print("transformers" in sys.modules)
"""


@pytest.mark.parametrize("config", [CONFIG, {"eos_token": "<|end|>"}, {"response_schema": {}}])
def test_transformers_is_loaded_for_a_response_template_only(config: dict[str, Any]) -> None:
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(source=SOURCE, config=config)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
        cwd=root,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == str("response_template" in config)
