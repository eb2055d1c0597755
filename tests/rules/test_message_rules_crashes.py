"""Shapes of a message that crash (TL205) or are refused (TL211)."""

from __future__ import annotations

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, inspect, skip_reason
from tests.rules.shapes import CALLS, CONTENT, ONLY_TEXT, SOUND


def test_a_language_of_calls_that_is_not_json_must_refuse_arguments_that_are_json_text() -> None:
    keys = (
        "{% for k, v in c.function.arguments | items %}<{{ k }}>{{ v if v is string else v | tojson }}</>{% endfor %}"
    )
    calls = (
        "{% for c in m.tool_calls or [] %}[{{ c.function.name }} "
        "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}"
        + keys
        + "{% endif %}]{% endfor %}"
    )
    source = SOUND.replace(CALLS, calls)
    [finding] = check_rule("TL206", source)
    assert finding.remedy.startswith("Refuse arguments that are a string with raise_exception")
    refusing = source.replace("{{ c.function.arguments }}", "{{ raise_exception('a mapping, please') }}")
    assert check_rule("TL206", refusing) == []
    assert [f.evidence["refused"] for f in check_rule("TL211", refusing)] == [["arguments as a JSON string"]]


def test_text_parts_are_said_once() -> None:
    """A template that knows no parts crashes or prints a list: one finding, not one for each role."""
    assert [f.rule for f in inspect(ONLY_TEXT, codes=("TL204", "TL205", "TL206", "TL207")).findings] == ["TL207"]
    crashing = SOUND.replace(CONTENT, "{{ '' + m.content }}")
    [finding] = check_rule("TL205", crashing.replace("''", "(m.content or '') and ''"))
    assert finding.severity is Severity.WARNING
    assert finding.evidence["shapes"] == ["a user message as typed text parts"]


def test_a_crash_on_every_tool_conversation_is_no_silence() -> None:
    source = "{{ tools | map(attribute='function') | tojson if tools }}" + SOUND.partition("}}")[2]
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.ERROR
    assert "on every conversation with tools=" in finding.message
    assert excerpt(source, finding).startswith("{{ tools | m")


def test_a_template_without_tools_that_crashes_on_everything_is_no_silence() -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.text.strip() }}{% endfor %}"
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.ERROR
    assert finding.message == "UndefinedError on every conversation: 'dict object' has no attribute 'text'"
    assert excerpt(source, finding) == source
    assert check_rule("TL205", source.replace("m.text", "(m.text or m.content)")) == []
    refusing = "{% for m in messages %}{{ raise_exception('none') }}{{ m.content }}{% endfor %}"
    assert check_rule("TL205", refusing) == []
    [finding] = check_rule("TL205", "{% for m in messages %}{{ m.content[0].text + '.' }}{% endfor %}")
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("UndefinedError on content that is a string; as typed text parts it renders")


def test_a_name_that_nobody_sets_is_told_once() -> None:
    for source in ("{{ asked.for }}{{ messages }}", "{{ asked.for }}" + SOUND):
        [hidden] = check_rule("TL205", source)
        [finding] = [f for f in inspect(source, codes=("TL004",)).findings if f.rule == "TL004"]
        assert hidden.defects == finding.defects == ["undefined name: asked"]
        assert hidden.brief and not finding.brief


def test_a_template_that_renders_only_parts() -> None:
    source = SOUND.replace(CONTENT, "{{ m.content[0].text if m.content else '' }}{{ m.content[0].type + '' }}")
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.WARNING
    assert "on content that is a string; as typed text parts it renders" in finding.message


def test_parts_are_asked_with_tools_where_nothing_renders_without_them() -> None:
    source = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}" + SOUND.partition("}}")[2]
    [_, finding] = check_rule("TL205", source.replace(CONTENT, "{{ (m.content or '').strip() }}"))
    assert finding.evidence["shapes"] == ["a user message as typed text parts"]
    assert "'list object' has no attribute 'strip'" in finding.message


def test_no_shape_is_blamed_for_what_is_refused_in_every_shape() -> None:
    source = SOUND.replace(CONTENT, "{{ raise_exception('no results') if m.role == 'tool' }}{{ m.content + '' }}")
    shapes = [shape for finding in check_rule("TL205", source) for shape in finding.evidence["shapes"]]
    assert shapes == ["a user message as typed text parts"]


def test_a_crash_on_every_call_names_no_shapes() -> None:
    source = SOUND.replace("c.function.name", "c.name.lower()")
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.ERROR
    assert (
        finding.message
        == "UndefinedError on every conversation with a tool call: 'dict object' has no attribute 'name'"
    )


def test_a_template_that_takes_content_in_parts_and_results_of_its_own() -> None:
    """No tool conversation renders: a question with tools shows why."""
    content = "{{ m.content[0].text + '' }}{{ m.content[0].name + '' if m.role == 'tool' }}"
    [finding] = check_rule("TL205", SOUND.replace(CONTENT, content))
    assert finding.severity is Severity.WARNING
    assert "on content that is a string; as typed text parts it renders" in finding.message


def test_a_method_that_the_sandbox_refuses_is_found_once() -> None:
    source = "{% set seen = [] %}" + SOUND.replace(
        CALLS, "{% if m.tool_calls %}{{ seen.append(1) }}{% endif %}" + CALLS
    )
    assert [finding.evidence["method"] for finding in check_rule("TL502", source)] == ["append"]
    assert check_rule("TL205", source) == []


def test_empty_calls_are_told_what_to_test() -> None:
    source = SOUND.replace(CALLS, "{% if 'tool_calls' in m %}{{ m.tool_calls[0].function | tojson }}{% endif %}")
    [finding] = check_rule("TL205", source)
    assert finding.evidence["shapes"] == ["tool_calls: []"]
    assert finding.remedy.startswith("Test that there are calls")


def test_a_missing_filter_is_found_once() -> None:
    calls = "{% if m.tool_calls and m.tool_calls[0].function.arguments is string %}{{ m.role | fromjson }}{% endif %}"
    source = SOUND.replace(CONTENT, CONTENT + calls)
    assert [finding.evidence["name"] for finding in check_rule("TL004", source)] == ["fromjson"]
    assert check_rule("TL205", source) == []


def test_an_id_that_no_call_has() -> None:
    lookup = (
        "{% for m in messages %}{% if m.role == 'tool' %}{% set ns = namespace(name=none) %}"
        "{% for o in messages %}{% for c in o.tool_calls or [] %}{% if c.id == m.tool_call_id %}"
        "{% set ns.name = c.function.name %}{% endif %}{% endfor %}{% endfor %}{{ 'from ' + ns.name }}{% endif %}"
    )
    [finding] = check_rule("TL205", SOUND.replace("{% for m in messages %}", lookup, 1))
    assert finding.severity is Severity.WARNING
    assert finding.evidence["shapes"] == ["a tool result whose id no call has"]


def test_limits_are_listed_as_capabilities() -> None:
    source = SOUND.replace(
        CALLS,
        "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call only') }}{% endif %}"
        "{% if m.tool_calls and m.tool_calls[0].id | length != 9 %}{{ raise_exception('nine') }}{% endif %}" + CALLS,
    )
    [finding] = check_rule("TL211", source)
    assert finding.severity is Severity.INFO
    assert finding.evidence["refused"] == ["two calls in one turn", "a call id such as 'call_1'"]
    assert check_rule("TL205", source) == []
    assert skip_reason("TL210", source) == "parallel calls do not render: TemplateError: one call only"


def test_each_refusal_has_its_own_words() -> None:
    source = (
        "{{ raise_exception('no system') if messages[0].role == 'system' }}{% for m in messages %}"
        "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}\n{{ raise_exception('take turns') }}{% endif %}"
        "{{ m.content }}{% endfor %}"
    )
    [finding] = check_rule("TL211", source)
    assert finding.message == (
        "refuses a system message: 'no system'; a developer message, a system message after the first exchange,"
        " two user messages in a row: 'take turns'"
    )
    assert excerpt(source, finding) == "raise_exception('no system')"


def test_where_every_user_message_is_refused_no_order_is_blamed() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' and '>>' not in m.content %}{{ raise_exception('name the"
        " language') }}{% endif %}{{ m.content }}{% endfor %}"
    )
    [finding] = check_rule("TL211", source)
    assert finding.evidence["refused"] == ["a plain user message"]


def test_a_result_that_needs_a_name_refuses_neither_two_calls_nor_a_stray_id() -> None:
    named = "{{ raise_exception('name it') if m.role == 'tool' and not m.name }}"
    source = SOUND.replace(CALLS, named + CALLS)
    [finding] = check_rule("TL211", source)
    assert finding.evidence["refused"] == ["a tool result without a name"]
    assert [found.rule for found in check_rule("TL210", source)] == ["TL210"]


def test_a_crash_on_a_long_line_is_shown_at_its_tag() -> None:
    tag = "{{ c.function.arguments.items() | list }}"
    source = SOUND.replace(CALLS, "{% for c in m.tool_calls or [] %}[" + tag + "]{% endfor %}")
    [finding] = check_rule("TL205", source)
    assert len(source) > 160
    assert excerpt(source, finding) == tag


def test_a_crash_in_a_tag_of_several_lines_is_shown_whole() -> None:
    source = "{{ tools if tools }}\n{% for m in messages %}\n{{ m.role +\n m.content\n + '.' }}\n{% endfor %}"
    [finding] = check_rule("TL205", source)
    assert excerpt(source, finding) == "{{ m.role +\n m.content\n + '.' }}"
    repaired = source.replace("m.content", "(m.content or '')")
    assert finding.remedy.startswith("Use (message.content or '')")
    assert [left.evidence["shapes"] for left in check_rule("TL205", repaired)] == [
        ["a user message as typed text parts"]
    ]


def test_content_that_is_used_as_text_is_one_finding_whatever_is_raised() -> None:
    source = SOUND.replace(CONTENT, "{{ '' + m.content }}")
    [finding] = check_rule("TL205", source)
    null, parts = finding.message.split("; ")
    assert null.startswith("UndefinedError on content null beside a call, on no content key beside a call: 'dict")
    assert parts.startswith("TypeError on a user message as typed text parts: can only concatenate")
    assert finding.severity is Severity.ERROR


def test_one_tag_that_crashes_in_two_ways_gives_both_messages() -> None:
    source = "{{ tools if tools }}{% for m in messages %}\n{{ m.content.strip() }}\n{% endfor %}"
    message = next(iter(check_rule("TL205", source))).message
    assert "on a user message as typed text parts: " in message
    assert "'dict object' has no attribute 'content'; 'list object' has no attribute 'strip'" in message


def test_two_crashes_on_one_line_are_two_findings() -> None:
    source = (
        "{{ tools if tools }}{% for m in messages %}{{ '<' + m.content }}"
        + "{% for c in m.tool_calls or [] %}"
        + ("{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}")
    )
    found = {excerpt(source, finding): finding.evidence["shapes"] for finding in check_rule("TL205", source)}
    assert found["{{ c.function.name + c.function.arguments }}"] == ["arguments as a mapping"]
    assert "a user message as typed text parts" in found["{{ '<' + m.content }}"]


def test_arguments_that_are_concatenated_beside_null_content_are_told_so() -> None:
    calls = "{% if m.get('content') is none %}" + CALLS.replace(" else c.function.arguments | tojson", "")
    calls = calls.replace("c.function.arguments if c.function.arguments is string", "'' + c.function.arguments")
    source = SOUND.replace(
        CONTENT + CALLS, calls + "{% endif %}{% if m.content is not none %}{{ '' + m.content }}{% endif %}"
    )
    [null] = [finding for finding in check_rule("TL205", source) if 'not "dict"' in finding.message]
    assert null.message.startswith("TypeError on content null beside a call, on no content key beside a call: ")
    assert (
        null.remedy == "Print arguments as they are where they are a string, and with tojson where they are a mapping."
    )


def test_a_generator_that_goes_into_tojson_needs_a_list() -> None:
    source = SOUND.replace("tools | tojson if tools", "tools | map(attribute='function') | tojson if tools")
    [finding] = check_rule("TL205", source)
    assert finding.message == (
        "TypeError on every conversation with tools=: Object of type generator is not JSON serializable"
    )
    assert finding.remedy == "Write | list before | tojson: filters such as map and select give a generator."
    assert check_rule("TL205", source.replace("'function') |", "'function') | list |")) == []


def test_a_special_token_that_the_tokenizer_has_not_is_named_in_the_remedy() -> None:
    source = "{% for m in messages %}{{ bos_token + m.role + ': ' + m.content }}{% endfor %}"
    [finding] = check_rule("TL205", source, variables={"eos_token": "</s>"})
    assert finding.message == "UndefinedError on every conversation: 'bos_token' is undefined"
    assert finding.remedy == "bos_token is there only if the tokenizer names one: use (bos_token or '')."
    assert [f for f in check_rule("TL205", source, variables={"bos_token": "<s>"}) if "undefined" in f.message] == []
