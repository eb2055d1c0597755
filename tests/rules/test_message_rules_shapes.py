"""TL204, TL206 and TL207: shapes of one conversation, on small templates."""

from __future__ import annotations

import pytest

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, inspect
from tests.rules.shapes import CALLS, CONTENT, ONLY_TEXT, SOUND, STRICT


@pytest.mark.parametrize("code", ["TL204", "TL205", "TL206", "TL207", "TL209"])
def test_a_template_that_takes_every_shape_is_quiet(code: str) -> None:
    source = SOUND.replace("| map(attribute='text') | join", "| tojson if m.content is mapping else T")
    source = source.replace(" else T", " else m.content | map(attribute='text') | join")
    assert check_rule(code, source) == []


def test_string_arguments_that_are_encoded_again() -> None:
    source = SOUND.replace("c.function.arguments if c.function.arguments is string else ", "")
    [finding] = check_rule("TL206", source)
    assert finding.severity is Severity.WARNING
    assert excerpt(source, finding) == "c.function.arguments | tojson"
    assert finding.evidence["shape"] == "arguments as a JSON string"
    assert finding.message.startswith('arguments as a JSON string gives another prompt: \'{"zqkey"')


def test_white_space_between_json_tokens_is_no_difference() -> None:
    source = SOUND.replace("arguments | tojson", "arguments | tojson(separators=(',', ':'))")
    assert check_rule("TL206", source) == []


def test_a_result_that_is_quoted_again_unless_it_stands_inside_json() -> None:
    quoted = SOUND.replace(CONTENT, "{{ m.content | tojson if m.role == 'tool' else m.content }}")
    [finding] = check_rule("TL206", quoted)
    assert "encoded again" in finding.message
    at = finding.evidence["excerpt_offset"]
    assert finding.evidence["usual"][at:].startswith('{"zqsky": "zqrain"}</>')
    assert finding.evidence["shaped"][at:].startswith('"{\\"zqsky')
    inside = SOUND.replace(
        CONTENT, """{{ '{"output": ' ~ (m.content | tojson) ~ '}' if m.role == 'tool' else m.content }}"""
    )
    assert [f for f in check_rule("TL206", inside) if "encoded again" in f.message] == []


def test_empty_tool_calls_that_open_a_block() -> None:
    source = SOUND.replace(CALLS, "{% if m.tool_calls is defined %}<calls>" + CALLS + "</calls>{% endif %}")
    [finding] = check_rule("TL206", source)
    assert finding.evidence["shape"] == "tool_calls: []"
    assert excerpt(source, finding) == "m.tool_calls is defined"


def test_what_one_shape_leaves_out_is_shown_at_its_condition() -> None:
    """The prompts part where the next turn begins; what must change is before it."""
    result = "{{ m.content if m.content is string else m.content[0].text }}{{ '\n' if m.content is string }}"
    source = SOUND.replace(CONTENT, "{% if m.role == 'tool' %}" + result + "{% else %}" + CONTENT + "{% endif %}")
    [finding] = check_rule("TL206", source)
    assert finding.evidence["shape"] == "a tool result as typed text parts"
    assert excerpt(source, finding) == "m.content is string"
    assert finding.place is not None and finding.place.offset == source.index("m.content is string }}{% else %}")


def test_arguments_are_shown_where_they_are_printed_not_the_blanks_before_them() -> None:
    printed = "{% if c.function.arguments is string %}  {{ c.function.arguments | tojson }}{% else %}"
    source = SOUND.replace("{{ c.function.arguments if", printed + "{{ c.function.arguments if")
    source = source.replace("tojson }}]", "tojson }}{% endif %}]")
    [finding] = check_rule("TL206", source)
    assert excerpt(source, finding) == "c.function.arguments | tojson"


def test_arguments_are_shown_where_one_set_encodes_them() -> None:
    source = SOUND.replace(
        CALLS, "{% for c in m.tool_calls or [] %}{% set out = c.function | tojson %}{{ out }}{% endfor %}"
    )
    [finding] = check_rule("TL206", source)
    assert excerpt(source, finding) == "c.function | tojson"


def test_a_mapping_in_pythons_words_is_found_once() -> None:
    source = SOUND.replace(
        "c.function.arguments if c.function.arguments is string else c.function.arguments | tojson", "X"
    )
    source = source.replace("X", "c.function.arguments | string")
    assert [f.rule for f in inspect(source, codes=("TL206", "TL207")).findings] == ["TL207"]


def test_reasoning_names_differ_only_where_they_are_not_aliased() -> None:
    source = SOUND.replace(CALLS, "{% if m.thinking %}<think>{{ m.thinking }}</think>{% endif %}" + CALLS)
    assert check_rule("TL206", source) == []
    [finding] = check_rule("TL206", source, transformers="4.57")
    assert finding.evidence["shape"] == "reasoning as 'reasoning_content' instead of 'thinking'"


def test_null_content_is_a_literal_where_the_version_keeps_it() -> None:
    source = SOUND.replace(CONTENT, "{{ m.content }}")
    literals = [f for f in check_rule("TL207", source, transformers="4.57") if "content null" in f.message]
    assert [(excerpt(source, f), f.severity, f.evidence["literal"]) for f in literals] == [
        ("m.content", Severity.ERROR, "None")
    ]
    assert [f for f in check_rule("TL207", source) if "content null" in f.message] == []


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("value | string", "True"),
        ("value if value is string or value is number else value | tojson", "True"),
        ("'null' if value is none else value | string | lower", "['zqitem', 2]"),
    ],
)
def test_literals_in_arguments(value: str, literal: str) -> None:
    parameters = "{% for key, value in c.function.arguments | items %}<p={{ key }}>{{ VALUE }}</p>{% endfor %}"
    source = SOUND.replace(
        CALLS, "{% for c in m.tool_calls or [] %}{{ c.function.name }}" + parameters + "{% endfor %}"
    )
    source = source.replace("VALUE", value)
    [finding] = check_rule("TL207", source)
    assert finding.severity is Severity.ERROR
    assert finding.evidence["literal"].startswith(literal)
    assert excerpt(source, finding) == value


def test_a_literal_is_shown_where_one_set_makes_a_text_of_the_value() -> None:
    made = "{% set text = value | tojson if value is mapping else value | string %}{{ text }}"
    parameters = "{% for key, value in c.function.arguments | items %}<p={{ key }}>" + made + "</p>{% endfor %}"
    source = SOUND.replace(
        CALLS, "{% for c in m.tool_calls or [] %}[{{ c.function.name }}]" + parameters + "{% endfor %}"
    )
    [finding] = check_rule("TL207", source)
    assert excerpt(source, finding) == "value | string"
    elsewhere = "{% macro other(value) %}{% set text = value | string %}{{ text }}{% endmacro %}"
    printed = source.replace("value | string %}", "value %}")
    [finding] = check_rule("TL207", elsewhere + printed)
    assert excerpt(elsewhere + printed, finding) == "text"


def test_text_parts_are_shown_where_a_filter_makes_a_text_of_them() -> None:
    set_first = "{% set said = '<' + m.role + '>' + m.content | trim %}{{ said }}"
    source = ONLY_TEXT.replace("<{{ m.role }}>{{ m.content }}", set_first)
    [finding] = check_rule("TL207", source)
    assert excerpt(source, finding) == "m.content | trim"


def test_python_belongs_into_python_calls() -> None:
    call = (
        "{% for c in m.tool_calls or [] %}{{ c.function.name }}({% for k, v in c.function.arguments | items %}"
        "{{ k }}={{ v | tojson if v is string else v }}{{ ', ' if not loop.last }}{% endfor %}){% endfor %}"
    )
    assert check_rule("TL207", SOUND.replace(CALLS, call)) == []


def test_schemas_printed_as_python() -> None:
    source = SOUND.replace("{{ tools | tojson if tools }}", "{{ tools if tools }}")
    [finding] = check_rule("TL207", source)
    assert finding.evidence["shapes"] == ["tool schemas"]
    assert finding.remedy.startswith("Print the tools with tojson")
    assert finding.severity is Severity.WARNING


def test_the_users_own_none_is_no_literal() -> None:
    """A default system prompt may speak of None and True."""
    source = "Say None, True or False. " + SOUND.replace(CONTENT, "{{ m.content or '' }}")
    assert [f for f in check_rule("TL207", source) if f.severity is Severity.ERROR] == []


def test_what_is_dropped_is_named_and_a_refusal_is_not() -> None:
    source = ONLY_TEXT.replace("messages %}", "messages if m.role != 'developer' %}")
    [finding] = check_rule("TL204", source)
    assert finding.message == "a developer message is not in the prompt, and no error is raised"
    refused = ONLY_TEXT.replace("<{{", "{{ raise_exception('no developer') if m.role == 'developer' }}<{{")
    assert check_rule("TL204", refused) == []


def test_a_template_that_does_not_know_developers_is_an_info() -> None:
    known = ONLY_TEXT.replace("messages %}", "messages if m.role in ['system', 'user', 'assistant', 'tool'] %}")
    named = ONLY_TEXT.replace("messages %}", "messages if m.role != 'developer' %}")
    assert [f.severity for f in check_rule("TL204", known)] == [Severity.INFO]
    assert [f.severity for f in check_rule("TL204", named)] == [Severity.WARNING]


def test_text_beside_a_call_and_reasoning_of_the_live_turn() -> None:
    beside = SOUND.replace(CONTENT, "{% if not m.tool_calls %}" + CONTENT + "{% endif %}")
    dropped = [field for finding in check_rule("TL204", beside) for field in finding.evidence["dropped"]]
    assert "text beside a tool call" in dropped
    reasoning = SOUND.replace(CALLS, "{{ m.reasoning_content if m.reasoning_content and not m.tool_calls }}" + CALLS)
    dropped = [field for finding in check_rule("TL204", reasoning) for field in finding.evidence["dropped"]]
    assert "reasoning before a call in the current turn" in dropped


def test_what_is_dropped_beside_a_call_points_at_the_branch_that_drops_it() -> None:
    source = STRICT.replace(CONTENT, "{% if not m.tool_calls %}" + CONTENT + "{% endif %}")
    [finding] = check_rule("TL204", source)
    assert excerpt(source, finding).startswith("c.function.arguments if")
    source = STRICT.replace(CALLS, "{{ m.reasoning_content if m.reasoning_content and not m.tool_calls }}" + CALLS)
    [finding] = check_rule("TL204", source)
    assert excerpt(source, finding) == "m.reasoning_content"


CUT = "{{ (m.content or '').split('</think>')|last }}"


def dropped_by(source: str) -> list[str]:
    return [field for finding in check_rule("TL204", source) for field in finding.evidence["dropped"]]


def test_reasoning_inside_the_content_of_the_live_turn() -> None:
    inside = "reasoning inside the content of a call in the current turn"
    source = STRICT.replace(CONTENT, CUT)
    assert source != STRICT
    [finding] = [f for f in check_rule("TL204", source) if inside in f.evidence["dropped"]]
    assert finding.severity is Severity.WARNING
    assert excerpt(source, finding) == "(m.content or '').split('</think>')|last"
    assert inside not in dropped_by(STRICT)
    # What the result of the call takes away is a prefix that does not hold.
    until_the_result = source.replace(CUT, "{{ m.content if loop.last else (m.content or '').split('</think>')|last }}")
    assert inside not in dropped_by(until_the_result)
    # A field that the template reads is where reasoning is sent.
    assert inside not in dropped_by(source.replace(CUT, "{{ m.reasoning_content }}" + CUT))


def test_the_reasoning_of_an_answer_that_ends_the_conversation_is_a_limit() -> None:
    answer = "the reasoning of an answer that ends the conversation"
    history = "{{ m.reasoning_content if m.reasoning_content and m.tool_calls }}"
    source = STRICT.replace(CALLS, history + CALLS)
    [finding] = [f for f in check_rule("TL204", source) if answer in f.evidence["dropped"]]
    assert finding.severity is Severity.INFO
    assert "a render of the finished turn is without its reasoning" in finding.remedy
    assert answer not in dropped_by(STRICT.replace(CALLS, "{{ m.reasoning_content }}" + CALLS))
    assert answer not in dropped_by(source.replace("and m.tool_calls", "and (m.tool_calls or keep_thinking)"))
    # Where no reasoning is ever printed, the call of the live turn says so.
    never = dropped_by(source.replace("and m.tool_calls", "and m.role == 'user'"))
    assert answer not in never
    assert "reasoning before a call in the current turn" in never
    inside = STRICT.replace(CONTENT, "{% if m.tool_calls %}{{ m.content }}{% else %}" + CUT + "{% endif %}")
    assert answer in dropped_by(inside)


def test_reasoning_that_a_template_kwarg_keeps_is_an_info() -> None:
    shown = "{{ m.reasoning_content if m.reasoning_content and enable_thinking }}"
    [finding] = check_rule("TL204", STRICT.replace(CALLS, shown + CALLS))
    assert finding.severity is Severity.INFO
    assert finding.message == (
        "reasoning before a call in the current turn is not in the prompt without enable_thinking=true, and no error"
        " is raised"
    )
    assert finding.remedy.startswith("Pass enable_thinking=true")


def test_reasoning_under_another_name_or_as_a_part_is_told_where_it_belongs() -> None:
    named = STRICT.replace(CALLS, "{{ m.reasoning }}" + CALLS)
    [finding] = check_rule("TL204", named)
    assert finding.message.startswith("reasoning under the name reasoning_content is not")
    assert "under the name reasoning," in finding.remedy
    part = "{% for p in m.content if p.type == 'thinking' %}{{ p.thinking }}{% endfor %}"
    parted = STRICT.replace(CONTENT, "{% if m.content is string %}{{ m.content }}{% else %}" + part + "{% endif %}")
    found = {finding.message: finding.remedy for finding in check_rule("TL204", parted)}
    assert found["reasoning as a field of the message is not in the prompt, and no error is raised"] == (
        "Send it as a content part of type 'thinking', which the template prints."
    )
    whole = parted.replace(part, "{{ m.content | tojson }}").replace(CALLS, "{{ m.thinking and '' }}" + CALLS)
    [finding] = check_rule("TL204", whole)
    assert finding.message.startswith("reasoning before a call in the current turn is not in the prompt, and")


def test_a_template_that_prints_only_parts_drops_strings_not_users() -> None:
    parts = "{% for p in m.content %}{{ p.text }}{% endfor %}"
    [finding] = check_rule("TL204", "{% for m in messages %}<{{ m.role }}>" + parts + "{% endfor %}")
    assert finding.message == "content that is a string is not in the prompt, and no error is raised"
    judge = "{% for m in messages if m.role != 'assistant' %}{{ m.content }}{% endfor %}"
    [finding] = check_rule("TL204", judge)
    assert finding.evidence["dropped"] == ["a reply in history"]


def test_a_result_that_is_a_mapping_is_a_limit() -> None:
    [finding] = check_rule("TL204", SOUND)
    assert finding.severity is Severity.INFO
    assert finding.evidence["dropped"] == ["a tool result that is a mapping"]


def test_all_that_vanishes_is_one_finding_and_the_limits_are_another() -> None:
    source = SOUND.replace(
        CONTENT, "{{ m.content if m.content is string and m.role in ('user', 'assistant', 'tool') }}"
    )
    dropped, limits = check_rule("TL204", source)
    assert (dropped.severity, limits.severity) == (Severity.WARNING, Severity.INFO)
    assert dropped.message == (
        "a system message, a user message as typed text parts are not in the prompt, and no error is raised"
    )
    assert dropped.remedy.startswith("Render the role, or refuse it with raise_exception. Join the text parts")
    assert limits.evidence["dropped"] == ["a tool result that is a mapping"]
    _, limits = check_rule("TL204", source.replace("('user',", "('system', 'user',"))
    assert limits.evidence["dropped"] == ["a developer message", "a tool result that is a mapping"]
    assert limits.remedy.endswith(
        "or refuse it with raise_exception. Send results as text, for example with json.dumps."
    )


def test_no_reasoning_is_asked_of_a_template_that_knows_none() -> None:
    dropped = [field for finding in check_rule("TL204", SOUND) for field in finding.evidence["dropped"]]
    assert not [field for field in dropped if "reasoning" in field]


def test_arguments_that_vanish_as_a_string_are_found_once() -> None:
    source = SOUND.replace(
        CALLS, "{% if (m.tool_calls or [{'function': {}}])[0].function.arguments is mapping %}" + CALLS + "{% endif %}"
    )
    [finding] = check_rule("TL201", source)
    assert finding.evidence["shapes"][0].startswith("arguments as a JSON string")
    assert "when arguments come as a JSON string" in finding.message
    assert finding.remedy.startswith("Print arguments")
    assert [f for f in check_rule("TL206", source) if "JSON string" in f.message] == []
