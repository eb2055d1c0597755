"""Shapes of what ``tools=`` holds, and conversations without it: crashes (TL205), other prompts (TL206), Python's words
(TL207), what is no JSON (TL208), refusals (TL211).
"""

from __future__ import annotations

import pytest

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, inspect
from tests.rules.shapes import CALLS, CONTENT, SOUND

REST = SOUND.partition("}}")[2]
FUNCTION = "{% for tool in tools or [] %}{% set f = tool.function %}<tool>{{ f.name }}"


def schemas(body: str) -> str:
    """A sound template that writes each function as ``body`` does: ``f`` is the function."""
    return FUNCTION + body + "</tool>{% endfor %}" + REST


def keys(body: str) -> str:
    """The same; ``p`` is each parameter."""
    return schemas("{% for n, p in ((f.parameters or {}).properties or {}) | items %}" + body + "{% endfor %}")


@pytest.mark.parametrize(
    ("source", "shapes"),
    [
        (schemas("{{ ': ' + f.description }}"), ["a tool without a description", "a tool whose description is null"]),
        (
            schemas("{% for n in f.parameters.properties %}{{ n }}{% endfor %}"),
            ["a tool without parameters"],
        ),
        (
            schemas("{% for n in f.parameters.properties.keys() %}{{ n }}{% endfor %}"),
            ["a tool without parameters", "a tool whose parameters are null", "parameters without properties"],
        ),
        (
            schemas("{{ f.parameters.required + [] if f.parameters }}"),
            [
                "parameters without properties",
                "parameters with empty properties",
                "parameters without a list of the required ones",
            ],
        ),
        (
            keys("{{ n + p.description }}"),
            ["a parameter without a description", "a parameter with $ref in place of a type"],
        ),
        (
            keys("{{ p.type + '!' }}"),
            [
                "a parameter with anyOf in place of a type",
                "a parameter with $ref in place of a type",
                "a parameter with a list of types",
            ],
        ),
        (keys("{{ p.enum | map('upper') | join('|') if p.enum }}"), []),
        (keys("{{ '|' + p.enum[1] if p.enum }}"), ["an enum with null"]),
    ],
)
def test_schemas_that_clients_send_do_not_crash(source: str, shapes: list[str]) -> None:
    found = check_rule("TL205", source)
    assert [finding.evidence["shapes"] for finding in found] == ([shapes] if shapes else [])
    assert all(finding.severity is Severity.WARNING for finding in found)


def test_each_way_in_which_one_place_fails_on_a_schema_is_said_once() -> None:
    source = schemas("\n{{ ': ' + f.description }}\n")
    [finding] = check_rule("TL205", source)
    missing, null = finding.message.split("; ")
    assert missing == "UndefinedError on a tool without a description: 'dict object' has no attribute 'description'"
    assert null.startswith("TypeError on a tool whose description is null: can only concatenate str")
    assert excerpt(source, finding) == "{{ ': ' + f.description }}"
    assert finding.remedy == "Test each key of a schema before use: all but a function's name may be absent or null."


def test_tools_that_are_printed_whole_take_every_schema() -> None:
    assert inspect(SOUND, codes=("TL205", "TL207", "TL211")).findings == []


def test_a_macro_that_never_ends_on_a_list_of_types_is_a_crash() -> None:
    macro = "{% macro of(p) %}{{ p.type if p.type is string else of(p) }}{% endmacro %}"
    source = macro + keys("{{ of(p) if p.type }}")
    [finding] = check_rule("TL205", source)
    assert finding.evidence == {"error": "RecursionError", "shapes": ["a parameter with a list of types"]}


def test_a_schema_that_is_refused_is_no_crash() -> None:
    source = schemas("{{ raise_exception('describe it') if not f.description }}")
    assert check_rule("TL205", source) == []
    [finding] = check_rule("TL211", source)
    assert finding.evidence["refused"] == ["a tool without a description", "a tool whose description is null"]


def test_a_template_that_does_not_list_tools_is_asked_nothing_about_schemas() -> None:
    assert check_rule("TL205", "{{ tools[0].description.strip() if false }}" + REST) == []


def test_pythons_words_in_schemas_are_one_finding() -> None:
    source = keys("{% for k, v in p | items %}<{{ k }}>{{ v if v is string else v | string }}</>{% endfor %}")
    [finding] = check_rule("TL207", source)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["shapes"] == [
        "a parameter with anyOf in place of a type",
        "a parameter with a list of types",
        "a parameter with a boolean default",
        "an enum with null",
        "a parameter with properties of its own",
        "a parameter that is a list of mappings",
    ]
    assert finding.message.startswith(
        "Python's '{'type': 'string'}, {'ty', '['string', 'null']', 'True' and 3 more reach the"
    )
    assert check_rule("TL207", source.replace("v | string", "v | tojson")) == []


def test_a_list_of_types_in_capitals_is_python_still() -> None:
    source = keys("{{ p.type | upper }}")
    [finding] = check_rule("TL207", source)
    assert finding.evidence["literal"] == "['STRING', 'NULL']"
    assert finding.evidence["shapes"] == ["a parameter with a list of types"]
    assert excerpt(source, finding) == "p.type | upper"


def test_a_description_that_is_null_is_not_called_none() -> None:
    source = schemas(": {{ f.description }}")
    [finding] = check_rule("TL207", source)
    assert (finding.evidence["literal"], finding.evidence["shapes"]) == ("None", ["a tool whose description is null"])
    assert excerpt(source, finding) == "f.description"
    assert check_rule("TL207", source.replace("f.description", "f.description or ''")) == []


def test_a_python_function_may_have_pythons_defaults() -> None:
    signature = "def {{ f.name }}({% for n, p in f.parameters.properties | items %}{{ n }}={{ p.default }}{% endfor %})"
    source = "{% for tool in tools or [] if tool.function.parameters %}{% set f = tool.function %}"
    assert check_rule("TL207", source + signature + "{% endfor %}" + REST) == []


def test_schemas_printed_whole_do_not_silence_the_call() -> None:
    """Only arguments that come out as a mapping of Python's do."""
    pasted = "{% for k, v in c.function.arguments | items %}{{ k }}=\"{{ v }}\"{{ ',' if not loop.last }}{% endfor %}"
    calls = (
        '{% for c in m.tool_calls or [] %}{"name": "{{ c.function.name }}", "arguments": { '
        + pasted
        + " } }{% endfor %}"
    )
    source = SOUND.replace(CALLS, calls)
    whole = source.replace("tools | tojson", "tools | string")
    assert [f.evidence["shapes"] for f in check_rule("TL207", whole)][-1] == ["tool schemas"]
    assert [f.rule for f in check_rule("TL208", source)] == [f.rule for f in check_rule("TL208", whole)]


def test_tools_that_are_looked_into_without_a_test_crash_where_there_are_none() -> None:
    source = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}" + REST
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["shapes"] == ["a conversation without tools="]
    assert finding.message == "TypeError on a conversation without tools=: 'NoneType' object is not iterable"
    assert finding.remedy.startswith("Look into tools only inside {% if tools %}")
    assert check_rule("TL205", source.replace("in tools ", "in tools or [] ")) == []


def test_a_result_that_is_looked_up_among_the_tools() -> None:
    lookup = "{% if m.role == 'tool' %}{% for t in tools %}{{ t.function.name }}{% endfor %}{% endif %}"
    source = SOUND.replace(CONTENT, lookup + CONTENT)
    parts = "a tool result as typed text parts without tools="
    [finding] = check_rule("TL205", source)
    assert finding.evidence["shapes"] == ["a tool conversation without tools=", parts]
    [finding] = check_rule("TL205", source.replace("'tool' %}", "'tool' and m.content is not string %}"))
    assert finding.evidence["shapes"] == [parts]


def test_the_template_that_is_selected_by_tools_is_not_asked_without_them() -> None:
    source = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}" + REST
    assert inspect(source, codes=("TL205",), name="tool_use").findings == []


def test_an_empty_list_of_tools_is_no_tools() -> None:
    source = "{% if tools is not none %}You have tools: {{ tools | tojson }}{% endif %}" + REST
    [finding] = check_rule("TL206", source)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["shape"] == "tools=[]"
    assert finding.message.startswith("tools=[] gives another prompt: '<user>zqquestion</><assista…' becomes 'You have")
    assert excerpt(source, finding) == "tools is not none"
    assert finding.remedy == "Test that there are tools, not that there is a list of them: {% if tools %}."
    assert check_rule("TL206", source.replace("if tools is not none", "if tools")) == []


def test_a_crash_on_an_empty_list_of_tools() -> None:
    source = "{{ tools[0].function.name + '!' if tools is not none }}" + SOUND
    [finding] = check_rule("TL205", source)
    assert finding.evidence["shapes"] == ["tools=[]"]
    assert check_rule("TL206", source) == []


def test_a_description_that_is_pasted_between_quotes_is_no_json() -> None:
    body = '{"name": "{{ f.name }}", "description": "{{ f.description }}"}'
    source = schemas(body)
    [finding] = inspect(source, codes=("TL208",)).findings
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        'a tool\'s schema stands in text that looks like JSON and is none: \'{"name": "zq'
    )
    assert excerpt(source, finding) == "f.description"
    assert finding.remedy == "Print the schema, or each value of it, with tojson."
    escaped = source.replace('"{{ f.description }}"', "{{ f.description | tojson }}")
    assert inspect(escaped, codes=("TL208",)).findings == []


def test_a_schema_that_is_never_json_is_shown_with_a_plain_description() -> None:
    source = schemas('{"name": "{{ f.name }}", "description": "{{ f.description }}\\nArgs:\n"}')
    [finding] = inspect(source, codes=("TL208",)).findings
    assert "zqdescription" in finding.evidence["prompt"]


def test_a_name_in_braces_that_are_closed_before_it_is_no_json() -> None:
    assert inspect(schemas('{"kind": "function"} {{ f.description }}'), codes=("TL208",)).findings == []
