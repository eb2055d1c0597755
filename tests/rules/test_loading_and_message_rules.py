"""TL0, TL2 and TL5: exact places, and what must stay quiet."""

from __future__ import annotations

import json

import pytest

from template_lint.model import Severity
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate
from tests.rules.helper import check_rule, excerpt, inspect, skip_reason

PLAIN = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content ~ '\\n' }}{% endfor %}"
TOOLS = (
    "{{ tools | tojson if tools }}{% for m in messages %}{{ m.role ~ ': ' ~ (m.content or '') }}"
    "{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)


def test_no_tool_support_is_said_once() -> None:
    """A template that knows no tools gets one TL200 and none of the tool rules."""
    report = inspect(PLAIN.replace(" ~ ", " + ") + "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}")
    found = [(finding.rule, finding.severity) for finding in report.findings if finding.rule.startswith("TL2")]
    assert found == [("TL200", Severity.INFO)]
    tool_rules = {"TL101", "TL102", "TL106", "TL107", "TL201", "TL202", "TL203"}
    assert tool_rules <= {skipped.rule for skipped in report.skipped}


def test_no_tool_support_is_an_error_where_tools_are_required() -> None:
    [finding] = check_rule("TL200", PLAIN, force_tools=True)
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("source", "line", "marked"),
    [
        ("a\n{% if x %}\n", 2, "%}"),
        ("{{ x \n", 1, "x"),
        ("{{ a }}\n{% do x %}", 2, "do"),
        ("{{ 'open }}", 1, "'"),
        ("{{ a }}\n{{ b | nothing }}", 2, "nothing"),
        ("{{ a }}\n  {{ b + |c' }}", 2, "|"),
        ("{{ a }} {# never closed", 1, "{#"),
        ("{{ a }}{% raw %}\nnever closed", 1, "{%"),
        ("{{ a }}{% if a and -%}", 1, "-%}"),
    ],
)
def test_syntax_errors_mark_the_token_that_does_not_fit(source: str, line: int, marked: str) -> None:
    [finding] = check_rule("TL002", source)
    assert finding.place is not None
    assert finding.place.line == line
    assert source[finding.place.offset : finding.place.end_offset] == marked


def test_a_template_that_is_still_a_json_string_is_named_so() -> None:
    source = json.dumps(PLAIN.replace("%}{", "%}\n{") + '{{- "end" }}\n')[1:-1]
    [finding] = check_rule("TL002", source)
    assert "json.loads" in finding.remedy
    [other] = check_rule("TL002", source.replace("endfor", "endif"))
    assert "json.loads" not in other.remedy, "decoding it would not help"


@pytest.mark.parametrize(
    "source",
    [
        "{{- if .System }}{{ .System }}{{ end }}",
        "{{- range .Messages }}{{ .Content }}{{- end }}",
        "{{ if $x }}{{ end }}",
    ],
)
def test_a_go_template_is_named_so(source: str) -> None:
    [finding] = check_rule("TL002", source)
    assert "Go template" in finding.remedy


def test_a_broken_jinja_template_is_not_taken_for_a_go_template() -> None:
    [finding] = check_rule("TL002", "{% for m in messages %}{{ m.content }}{% end %}")
    assert finding.remedy.startswith("Correct this line")


def test_nothing_else_is_said_of_a_template_that_does_not_compile() -> None:
    report = inspect("{% if %}")
    assert [finding.rule for finding in report.findings] == ["TL002"]
    assert report.verdict.tito == "unrenderable"
    assert skip_reason("TL101", "{% if %}") == "the template does not compile (TL002)"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("{% if tools %}{{ tools | fromjson }}{% endif %}", "fromjson"),
        ("{% if messages is iterable_thing %}{% endif %}", "iterable_thing"),
        ("{% if tools %}{{ now() }}{% endif %}", "now"),
        ("{{ messages[0].content.trim() }}", "trim"),
        ("Today is {{ date_string }}", "date_string"),
        ("{% for x in extra_messages %}{% endfor %}", "extra_messages"),
    ],
)
def test_unknown_names_are_cut_out(source: str, name: str) -> None:
    found = [excerpt(source, finding) for finding in check_rule("TL004", source)]
    assert found == [name]


@pytest.mark.parametrize(
    "source",
    [
        "{{ bos_token }}{{ messages[0].content.split('\\n')[0].strip() }}",
        "{% if date_string is defined %}{{ date_string }}{% endif %}",
        "{{ date_string | default('today') }}",
        "{% if enable_thinking %}{{ enable_thinking }}{% endif %}",
        "{% macro show(x) %}{{ x | tojson }}{% endmacro %}{{ show(tools) }}",
        "{% set ns = namespace(found=false) %}{{ ns.found }}{{ strftime_now('%Y') }}{{ raise_exception('x') }}",
        "{% for key, value in messages[0].items() %}{{ loop.index }}{{ loop.cycle('a', 'b') }}{% endfor %}",
        "{% generation %}{{ messages[0].content }}{% endgeneration %}{% for m in messages %}{% break %}{% endfor %}",
    ],
)
def test_known_names_are_quiet(source: str) -> None:
    assert check_rule("TL004", source) == []


def test_a_name_that_only_a_refusal_needs_is_a_warning() -> None:
    source = "{% if tools %}{{ raise_exception('no: ' + str(tools)) }}{% endif %}"
    [finding] = check_rule("TL004", source)
    assert (excerpt(source, finding), finding.severity) == ("str", Severity.WARNING)
    assert finding.remedy == "Use the filter: x | string."
    [finding] = check_rule("TL004", source + "{{ str(messages) }}")
    assert finding.severity is Severity.ERROR


def test_null_is_no_word_of_jinja() -> None:
    [finding] = check_rule("TL004", "{{ 'arguments: ' ~ null }}")
    assert finding.remedy.startswith("Jinja's word for it is none")


def test_strftime_now_is_known_to_every_profile() -> None:
    assert check_rule("TL004", "{{ strftime_now('%d') }}", transformers="4.57") == []


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("{{ messages[0].content.trim() }}", "Use the filter: x | trim."),
        ("{{ messages[0].content.ends_with('.') }}", "The method is called endswith."),
        ("{{ messages[0].content.shout() }}", "Only the methods of strings, lists, mappings and numbers exist here."),
    ],
)
def test_unknown_method_names_what_is_there_instead(source: str, remedy: str) -> None:
    [finding] = check_rule("TL004", source)
    assert finding.remedy == remedy


def test_from_keys_is_told_where_it_raises_and_its_remedy_makes_the_mapping() -> None:
    source = "{% set of = dict.from_keys([('a', 1)]) %}{{ of['a'] }}"
    [finding] = check_rule("TL004", source)
    assert finding.remedy == "Call dict(pairs) where pairs become a mapping; the method fromkeys takes keys alone."

    def printed(source: str, version: str) -> str | None:
        return ChatTemplate(source, parse_profile(version)).render({"messages": []}).text

    assert [printed(source, version) for version in ("4.57", "5.24")] == ["1", None]
    assert printed(source.replace("dict.from_keys", "dict"), "5.24") == "1"
    assert printed(source.replace("from_keys", "fromkeys"), "5.24") != "1"
    assert check_rule("TL004", source, transformers="4.57") == []
    [finding] = check_rule("TL004", "{% set dict = messages[0] %}" + source, transformers="4.57")
    assert finding.evidence["name"] == "from_keys"


def test_an_unknown_filter_in_one_outcome_of_an_expression_is_not_said_to_raise_always() -> None:
    [finding] = check_rule(
        "TL004", "{% for m in messages %}{{ m.content | fromjson if m.x else m.content }}{% endfor %}"
    )
    assert finding.message == "apply_chat_template has no filter 'fromjson': using it raises"


def test_a_good_tool_template_has_no_message_finding() -> None:
    findings = [finding for finding in inspect(TOOLS).findings if finding.rule.startswith("TL2")]
    assert [finding.rule for finding in findings if finding.severity is Severity.ERROR] == []
    assert {finding.rule for finding in findings} == {"TL206", "TL207", "TL210"}


def test_dropped_call_dropped_result_and_ignored_tools() -> None:
    call = TOOLS.replace("{{ c.function | tojson }}", "")
    [finding] = check_rule("TL201", call)
    assert "the call itself is not" in finding.message
    assert excerpt(call, finding) == "m.tool_calls"
    [finding] = check_rule("TL201", call.replace("{% for c in m.tool_calls or [] %}{% endfor %}", ""))
    assert "because the template does not read tool_calls" in finding.message
    assert finding.place is None
    result = TOOLS.replace("{% for m in messages %}", "{% for m in messages if m.role != 'tool' %}")
    assert len(check_rule("TL202", result)) == 1
    ignored = TOOLS.replace("{{ tools | tojson if tools }}", "")
    [finding] = check_rule("TL203", ignored)
    assert finding.severity is Severity.WARNING
    [finding] = check_rule("TL203", ignored + "{{ available_tools | tojson if available_tools }}")
    assert finding.remedy.startswith("Pass the schemas as the template kwarg available_tools")


def test_tools_that_hang_on_the_system_message_are_shown_where_they_are_printed() -> None:
    tools = "{{ tools | tojson if tools }}"
    for condition in ("messages[0].role == 'system'", "messages[0].role != 'system'"):
        source = TOOLS.replace(tools, "{% if " + condition + " %}" + tools + "{% endif %}")
        [finding] = check_rule("TL203", source)
        assert excerpt(source, finding) == "tools | tojson if tools"


def test_a_judge_that_prints_the_reply_alone_drops_no_result() -> None:
    source = (
        "{{ 'with tools' if tools }}{% for m in messages if m.role == 'assistant' %}Judge: {{ m.content }}{% endfor %}"
    )
    assert "does not print conversations" in (skip_reason("TL202", source) or "")


def test_a_refused_result_is_no_dropped_result() -> None:
    source = TOOLS.replace("{{ m.role ~", "{{ raise_exception('no tools here') if m.role == 'tool' }}{{ m.role ~")
    assert skip_reason("TL202", source) == "a tool conversation does not render: TemplateError: no tools here"


def test_a_crash_points_at_the_line_and_names_the_shapes() -> None:
    source = TOOLS.replace("{% for m", "\n  {% for m").replace("(m.content or '')", "m.content | trim")
    source = source.replace("{{ c.function | tojson }}", "\n  {{ c.function.arguments.items() | list }}\n")
    [finding] = check_rule("TL205", source)
    assert finding.severity is Severity.ERROR
    assert finding.evidence["shapes"] == ["arguments as a JSON string"]
    assert excerpt(source, finding) == "{{ c.function.arguments.items() | list }}"


def test_a_refusal_is_a_capability_and_no_crash() -> None:
    source = "{{ raise_exception('no system') if messages[0].role == 'system' }}" + TOOLS
    assert check_rule("TL205", source) == []
    [finding] = check_rule("TL211", source)
    assert finding.severity is Severity.INFO
    assert finding.evidence["refused"] == ["a system message"]


def test_growth_that_keeps_step_is_quiet() -> None:
    assert check_rule("TL508", TOOLS) == []
    [finding] = check_rule("TL508", "{% for m in messages %}" + PLAIN + "{% endfor %}")
    assert finding.evidence["exchanges"] == [4, 8, 16]


@pytest.mark.parametrize(
    ("loop", "count"),
    [
        ("range(1000000000)", 1_000_000_000),
        ("range(0, -300000, -2)", 150_000),
        ("range(100001)", 100_001),
    ],
)
def test_a_range_that_the_sandbox_refuses_is_found_on_any_branch(loop: str, count: int) -> None:
    source = PLAIN + "{% if documents %}{% for i in " + loop + " %}x{% endfor %}{% endif %}"
    [finding] = check_rule("TL508", source)
    assert finding.evidence["numbers"] == count
    assert finding.place is not None
    assert source[finding.place.offset : finding.place.end_offset] == loop


def test_a_range_that_grows_with_the_conversation_is_found_where_it_is_refused() -> None:
    source = "{% for i in range(messages|length * 1000000) %}{% endfor %}\n" + PLAIN
    [finding] = check_rule("TL508", source)
    assert finding.place is not None and finding.place.line == 1
    assert "more than 100,000" in finding.message


def test_ranges_of_a_few_numbers_are_fine() -> None:
    loops = ["range(3)", "range(100000)", "range(messages|length)", "range(1, x)", "range('a')", "range(5, 1000000, 0)"]
    for loop in loops:
        assert check_rule("TL508", PLAIN + "{% if x %}{% for i in " + loop + " %}{% endfor %}{% endif %}") == [], loop


def test_an_unknown_variable_is_marked_where_it_comes_first() -> None:
    source = "{% for m in messages %}{% if m.role == 'user' %}\n{{ text | trim }}{% elif m.role %}{{ text | trim }}"
    source += "{% endif %}{% endfor %}"
    [finding] = check_rule("TL004", source)
    assert finding.place is not None
    assert (finding.place.line, finding.place.column) == (2, 4)
