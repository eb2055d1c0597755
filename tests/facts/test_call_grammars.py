"""Each language of calls: read back what it can hold, and say why where it cannot."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.facts.call_grammars import GRAMMARS, Raw, find_grammar, read_call, same_value

ARGUMENTS: dict[str, Any] = {"port": "Vlissingen", "days": 3}

CALLS = {
    "JSON object": [
        '<tool_call>\n{"name": "tide", "arguments": {"port": "Vlissingen", "days": 3}}\n</tool_call>',
        '[TOOL_CALLS] [{"name": "tide", "arguments": {"port": "Vlissingen", "days": 3}, "id": "abcdefghi"}]',
        '{"name": "tide", "parameters": {"port": "Vlissingen", "days": 3}}<|eot_id|>',
        '{"tool_call_id": "0", "tool_name": "tide", "parameters": {"port": "Vlissingen", "days": 3}}',
        '{"name": "tide", "arguments": "{\\"port\\": \\"Vlissingen\\", \\"days\\": 3}"}',
    ],
    "harmony": ['to=functions.tide<|channel|>commentary json<|message|>{"port": "Vlissingen", "days": 3}<|call|>'],
    "DeepSeek fence": [
        'function<｜tool▁sep｜>tide\n```json\n{"port": "Vlissingen", "days": 3}\n```<｜tool▁call▁end｜>'
    ],
    "DeepSeek separator": [
        '<｜tool▁call▁begin｜>tide<｜tool▁sep｜>{"port": "Vlissingen", "days": 3}<｜tool▁call▁end｜>'
    ],
    "Mistral arguments": [
        '[TOOL_CALLS]tide[ARGS]{"port": "Vlissingen", "days": 3}</s>',
        '[TOOL_CALLS]tide[CALL_ID]abcdefghi[ARGS]{"port": "Vlissingen", "days": 3}</s>',
    ],
    "Kimi": ['functions.tide:0<|tool_call_argument_begin|>{"port": "Vlissingen", "days": 3}<|tool_call_end|>'],
    "function tag": ['<function=tide>{"port": "Vlissingen", "days": 3}</function>'],
    "Solar": ['<|tool_call:name|>tide<|tool_call:args|>{"port": "Vlissingen", "days": 3}<|tool_call:end|>'],
    "recipient line": ['>>>tide\n{"port": "Vlissingen", "days": 3}<|eot_id|>'],
    "object by name": ['[{"tide": {"port": "Vlissingen", "days": 3}}]'],
    "Qwen3-Coder parameters": [
        "<function=tide>\n<parameter=port>\nVlissingen\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>"
    ],
    "GLM argument pairs": [
        "<tool_call>tide\n<arg_key>port</arg_key>\n<arg_value>Vlissingen</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
    ],
    "invoke parameters": [
        '<invoke name="tide">\n<parameter name="port">Vlissingen</parameter>'
        '<parameter name="days">3</parameter></invoke>',
        '<function name="tide"><param name="port">Vlissingen</param>'
        '<param name="days"><![CDATA[3]]></param></function>',
        '<｜DSML｜invoke name="tide">\n<｜DSML｜parameter name="port" string="true">Vlissingen</｜DSML｜parameter>'
        '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter></｜DSML｜invoke>',
    ],
    "Solar argument pairs": [
        "<|tool_call:start|>tide\n<|tool_arg:start|>port<|tool_arg:value|>Vlissingen<|tool_arg:end|>"
        "<|tool_arg:start|>days<|tool_arg:value|>3<|tool_arg:end|><|tool_call:end|>"
    ],
    "Gemma call": [
        '<|tool_call>call:tide{days:3,port:<|"|>Vlissingen<|"|>}<tool_call|>',
        "call:tide{days:3,port:<escape>Vlissingen<escape>}",
    ],
    "Python call": ['[tide(port="Vlissingen", days=3)]', "tide(days=3, port='Vlissingen')"],
}


def test_every_grammar_has_an_example() -> None:
    assert list(CALLS) == [grammar.name for grammar in GRAMMARS]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in CALLS.items() for text in texts])
def test_a_call_is_read_back(name: str, text: str) -> None:
    found = find_grammar("tools: tide. " + text, "tide", ARGUMENTS)
    assert found is not None
    grammar, number = found
    assert grammar.name == name
    call = read_call(grammar, text, "tide", number)
    assert call is not None
    assert call.arguments is not None
    assert all(same_value(value, call.arguments[key]) for key, value in ARGUMENTS.items())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name": "tide", "arguments": {"port": "a "quoted" port"}}', "not JSON: Expecting ',' delimiter"),
        ('{"name": "tide", "arguments": {\'port\': \'x\'}}', "not JSON: Expecting property name enclosed in double"),
        ('[tide(port="a "quoted" port")]', "not a Python call"),
        ("[tide(port=Vlissingen)]", "a value is no literal: strings need quotes"),
        ("call:tide{port:Vlissingen}", "'Vlissingen' is neither quoted nor a number"),
        ('call:tide{port:<|"|>Vlissingen}', "a string is not closed"),
    ],
)
def test_a_broken_call_is_recognised_and_says_why(text: str, problem: str) -> None:
    found = find_grammar(text, "tide", {"port": "x"})
    assert found is not None
    call = read_call(found[0], text, "tide", found[1])
    assert call is not None
    assert call.arguments is None
    assert call.problem.startswith(problem)


@pytest.mark.parametrize("text", ["I call tide now.", "tide: Vlissingen", "<tide port='Vlissingen'/>", ""])
def test_an_unknown_language_is_not_guessed(text: str) -> None:
    assert find_grammar(text, "tide", ARGUMENTS) is None


def test_a_schema_is_no_call() -> None:
    schema = '{"name": "tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}}}}'
    text = schema + CALLS["JSON object"][0]
    found = find_grammar(text, "tide", ARGUMENTS)
    assert found is not None
    assert found[1] == 1


@pytest.mark.parametrize(
    ("sent", "read", "same"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (True, True, True),
        (1, True, False),
        (3, Raw("3"), True),
        ("3", Raw("3"), True),
        ("a", Raw('"a"'), True),
        (True, Raw("true"), True),
        (True, Raw("True"), True),
        (None, Raw("null"), True),
        ({"a": [1]}, Raw('{"a": [1]}'), True),
        ({"a": [1]}, Raw("{'a': [1]}"), True),
        ("a <b>", Raw("a &lt;b&gt;"), False),
    ],
)
def test_values_that_are_the_same(sent: Any, read: Any, same: bool) -> None:
    assert same_value(sent, read) is same


def test_hostile_text_is_bounded() -> None:
    """Deep nesting and many brackets end with a reason, not with an exception."""
    for text in (
        '{"name": "tide", "arguments": ' + "[" * 100_000,
        "[tide(port=" + "(" * 5_000 + ")" * 5_000,
        "call:tide{a:" + "{a:" * 200 + "}",
        "tide" * 10_000,
    ):
        for grammar in GRAMMARS:
            assert all(call.arguments is None or call.arguments is not None for call in grammar.read(text, "tide"))
