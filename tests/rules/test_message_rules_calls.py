"""TL005, TL201, TL208, TL209, TL210 and TL212 on small templates: places, values, and what stays quiet."""

from __future__ import annotations

import pytest
from jinja2 import nodes

from template_lint.model import Severity
from template_lint.rendering.positions import SourceMap
from tests.rules.helper import check_rule, excerpt, skip_reason
from tests.rules.test_message_rules_shapes import CALLS, CONTENT, SOUND

JSON_CALLS = "{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}"
TURNS = SOUND.replace(CALLS, JSON_CALLS)


def python_calls(value: str) -> str:
    return SOUND.replace(
        CALLS,
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}({% for k, v in c.function.arguments | items %}"
        "{{ k }}={{ VALUE }}{{ ', ' if not loop.last }}{% endfor %}){% endfor %}".replace("VALUE", value),
    )


@pytest.mark.parametrize("source", [TURNS, python_calls("v | tojson")])
def test_calls_that_come_back(source: str) -> None:
    assert check_rule("TL208", source) == []


def test_pasted_quotes_are_found_with_the_argument_that_breaks() -> None:
    value = "'\"' ~ v ~ '\"' if v is string else v | tojson"
    source = python_calls(value)
    [finding] = check_rule("TL208", source)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["lost"] == ["zqtext"]
    assert finding.evidence["grammar"] == "Python call"
    assert "cannot be read: not a Python call" in finding.message
    assert finding.remedy.startswith("Print each string with tojson")


def test_a_string_without_quotes_is_shown_where_it_is_printed() -> None:
    source = python_calls("v if v is string else v | tojson").replace("{{ k }}=", "{{ k ~ '=' }}")
    [finding] = check_rule("TL208", source)
    assert finding.message.endswith("cannot be read: a value is no literal: strings need quotes")
    assert excerpt(source, finding) == "v if v is string else v | tojson"


def test_a_pasted_quote_is_shown_in_the_macro_whose_text_is_joined() -> None:
    macro = '{% macro quoted(v) %}{{ "\'" + v + "\'" if v is string else v | tojson }}{% endmacro %}'
    source = macro + python_calls("v | tojson").replace("{{ k }}={{ v | tojson }}", "{{ [k, quoted(v)] | join('=') }}")
    [finding] = check_rule("TL208", source)
    assert finding.evidence["lost"] == ["zqtext"]
    assert excerpt(source, finding) == '"\'" + v + "\'" if v is string else v | tojson'


def test_arguments_that_only_come_back_alone() -> None:
    source = python_calls("v | tojson").replace("', ' if not loop.last", "', ' if loop.last and false")
    [finding] = check_rule("TL208", source)
    assert "two arguments cannot be read, each alone can: not a Python call" in finding.message
    assert finding.evidence["lost"] == ["zqkey", "zqtext"]
    assert finding.remedy == "Print between two arguments what the language separates them with."
    assert excerpt(source, finding) == "k"


def test_xml_parameters_are_not_told_to_quote_their_strings() -> None:
    value = "<parameter={{ k }}>{{ v | string | replace('<b>', '') }}</parameter>"
    parameters = "{% for k, v in c.function.arguments | items %}" + value + "{% endfor %}"
    source = SOUND.replace(
        CALLS,
        "{% for c in m.tool_calls or [] %}<function={{ c.function.name }}>" + parameters + "</function>{% endfor %}",
    )
    [finding] = check_rule("TL208", source)
    assert finding.evidence["lost"] == ["zqtext"]
    assert finding.remedy.startswith("Print a string as it is")


def test_an_escape_that_changes_the_argument() -> None:
    source = TURNS.replace("c.function | tojson", "c.function | tojson | replace('<', '\\\\u003e')")
    [finding] = check_rule("TL208", source)
    assert finding.evidence["lost"] == ["zqtext"]
    assert "comes back as" in finding.message


def test_an_unknown_language_is_skipped_with_what_it_looks_like() -> None:
    source = SOUND.replace(CALLS, "{% for c in m.tool_calls or [] %}!{{ c.function.arguments | string }}{% endfor %}")
    reason = skip_reason("TL208", source)
    assert reason is not None
    assert reason.startswith("the language of this call is not known: ")
    assert "zqargument" in reason


def test_a_result_in_json_that_is_none() -> None:
    pasted = """{{ '{"content": ' ~ m.content ~ '}' if m.role == 'tool' else m.content or '' }}"""
    [finding] = check_rule("TL208", TURNS.replace(CONTENT, pasted))
    assert finding.evidence["lost"] == ["result"]
    assert "looks like JSON and is none" in finding.message
    quoted = """{{ '{"content": "' ~ m.content ~ '"}' if m.role == 'tool' else m.content or '' }}"""
    assert [f.evidence["lost"] for f in check_rule("TL208", TURNS.replace(CONTENT, quoted))] == [["result"]]
    sound = """{{ {'content': m.content} | tojson if m.role == 'tool' else m.content or '' }}"""
    assert check_rule("TL208", TURNS.replace(CONTENT, sound)) == []


def test_the_second_of_two_calls() -> None:
    source = TURNS.replace("in m.tool_calls or []", "in (m.tool_calls or [])[:1]")
    [finding] = check_rule("TL201", source)
    assert finding.severity is Severity.ERROR
    assert finding.evidence["calls"] == 2
    assert excerpt(source, finding) == "m.tool_calls"
    assert check_rule("TL201", TURNS) == []


def test_order_is_judged_where_every_message_is_there_once() -> None:
    reverse = TURNS.replace("for m in messages %}", "for m in messages | reverse %}")
    findings = check_rule("TL209", reverse)
    assert findings
    assert all(finding.severity is Severity.ERROR and finding.place is not None for finding in findings)
    judge = (
        "{{ tools }}{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | last }}"
        "{{ messages | selectattr('role', 'equalto', 'assistant') | map(attribute='content') | list | last }}"
    )
    assert check_rule("TL209", judge) == []


def test_a_text_that_comes_too_late_is_shown_where_its_macro_is_called() -> None:
    macro = "{% macro clean(text) %}{{ text | trim }}{% endmacro %}"
    late = "{% if m.role == 'tool' %}{{ m.content }}{{ clean(loop.previtem.content) }}{% elif not m.tool_calls %}"
    source = macro + TURNS.replace(CONTENT, late + CONTENT + "{% endif %}")
    found = {excerpt(source, finding) for finding in check_rule("TL209", source)}
    assert found == {"clean(loop.previtem.content)"}


def test_what_hundreds_of_blocks_print_again_is_placed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    placed: list[nodes.Node] = []
    place_of = SourceMap.expression_range

    def counting(source_map: SourceMap, node: nodes.Node) -> tuple[int, int]:
        placed.append(node)
        return place_of(source_map, node)

    monkeypatch.setattr(SourceMap, "expression_range", counting)
    again = "{% set text %}{{ text }}{% endset %}" * 400
    source = TURNS.replace("messages %}", "messages | reverse %}", 1)
    source = source.replace(CONTENT, "{% set text %}" + CONTENT + "{% endset %}" + again + "{{ text }}")
    assert {excerpt(source, finding) for finding in check_rule("TL209", source)} == {CONTENT[3:-3]}
    assert 400 < len(placed) < 2_000


def test_of_two_equal_replies_one_that_is_missing_is_no_disorder() -> None:
    """A template that prints reasoned replies only at the end drops the first of two: TL204 says so."""
    gone = SOUND.replace(CONTENT, "{% if loop.last or not m.reasoning_content %}" + CONTENT + "{% endif %}")
    assert check_rule("TL209", gone) == []
    finding = next(iter(check_rule("TL204", gone)))
    assert finding.evidence["dropped"][0] == "a reply that has reasoning"


def test_system_text_may_move() -> None:
    source = "{% for m in messages if m.role != 'system' %}{{ m.content }}{% endfor %}{{ messages[0].content if messages[0].role == 'system' }}"  # noqa: E501
    assert check_rule("TL209", source) == []


def test_results_that_carry_their_id_do_not_bind_by_position() -> None:
    assert [finding.severity for finding in check_rule("TL210", TURNS)] == [Severity.INFO]
    assert check_rule("TL210", TURNS.replace(CONTENT, "{{ m.tool_call_id }}" + CONTENT)) == []
    no_calls = TURNS.replace(JSON_CALLS, "")
    [finding] = check_rule("TL210", TURNS)
    assert finding.message.endswith("results bind by position")
    [finding] = check_rule("TL210", TURNS.replace(CONTENT, "{{ m.name }}" + CONTENT))
    assert finding.message.endswith("results bind by the name they carry, and without one by position")
    assert finding.remedy.startswith("Give each result the name of its function")
    assert skip_reason("TL210", no_calls) == "the calls of one turn are not all in the prompt (TL201)"


@pytest.mark.parametrize(
    ("source", "cut"),
    [
        ("{% for m in messages %} == 'user' %}{{ m.content }}{% endfor %}", "== 'user'"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{raise_exception('none')}", "raise_exception("),
        ("{% for m in messages %}{{ m.content }}{% endfor %}{% raw %}{% endif %}{% endraw %}", "{%"),
    ],
)
def test_source_outside_tags_is_cut_out(source: str, cut: str) -> None:
    [finding] = check_rule("TL212", source)
    assert excerpt(source, finding) == cut


@pytest.mark.parametrize(
    "source",
    [
        '{% for m in messages %}{{ m.content }}{% endfor %}Answer as {"name": {"first": "x"}}.',
        '{% for m in messages %}{{ m.content }}{% endfor %}For example {"text": "one\\ntwo"}.',
        "{% for m in messages %}{{ m.content.replace('\\\\n', ' ') }}{% endfor %}",
        "\n{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}",
    ],
)
def test_json_examples_and_escapes_in_tags_are_no_leak(source: str) -> None:
    assert check_rule("TL212", source) == []


def test_a_backslash_and_n_in_the_prompt() -> None:
    source = "{% for m in messages %}{{ m.content }}\\n{% endfor %}"
    [finding] = check_rule("TL212", source)
    assert excerpt(source, finding) == "\\n"
    assert finding.evidence["kind"] == "escape"
    source = (
        "You are helpful and answer in one line only.\\nThink first.{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    [finding] = check_rule("TL212", source)
    assert excerpt(source, finding) == "\\n"


def test_white_space_before_bos() -> None:
    source = "{% set x = 1 %}  {{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    [finding] = check_rule("TL212", source, variables={"bos_token": "<s>"})
    assert finding.evidence == {"kind": "before BOS", "text": "  "}
    assert excerpt(source, finding) == "  "
    assert check_rule("TL212", source.replace("%}  {{", "%}{{"), variables={"bos_token": "<s>"}) == []


def test_a_lost_write_names_the_line_that_misses_it() -> None:
    source = "{% set found = false %}\n{% for m in messages %}{% set found = true %}{% endfor %}\n{{ found }}"
    [finding] = check_rule("TL005", source)
    assert excerpt(source, finding) == "found"
    assert finding.place is not None
    assert finding.place.line == 2
    assert finding.evidence == {"name": "found", "read_line": 3, "next_iteration": False}


def test_a_name_that_is_set_on_some_ways_only() -> None:
    source = (
        "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}{% endif %}{{ '<s>' + system }}"
    )
    [finding] = check_rule("TL004", source)
    assert excerpt(source, finding) == "system"
    assert finding.evidence["roles"] == ["user"]
    assert check_rule("TL004", source.replace("+ system", "+ (system or '')")) == []
