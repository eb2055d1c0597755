"""The traced render: same text, which node printed what, how conditions went, and counterfactuals."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2.compiler import CodeGenerator

from template_lint.rendering.environment import ChatEnvironment, make_environment
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate
from template_lint.rendering.trace import Trace


class JinjaEnvironment(ChatEnvironment):
    code_generator_class = CodeGenerator


PROFILE = parse_profile("5.24")
MESSAGES = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Yo é🎉"},
    {"role": "tool", "content": ""},
]


def context(**variables: Any) -> dict[str, Any]:
    return {"messages": MESSAGES, "add_generation_prompt": True, "tools": None, **variables}


def segments(template: ChatTemplate, trace: Trace) -> list[tuple[str, str]]:
    """(source of the site, text it printed), in output order."""
    text = template.source_map.text
    return [
        (text[template.sites[s.occurrence[0]].start : template.sites[s.occurrence[0]].end], s.text)
        for s in trace.segments
    ]


def branches(template: ChatTemplate, trace: Trace) -> list[tuple[str, int, bool]]:
    """(condition, occurrence number, outcome), in the order they were decided."""
    text = template.source_map.text
    found = []
    for branch in trace.branches:
        site = template.sites[branch.occurrence[0]]
        found.append((text[site.start : site.end], branch.occurrence[1], branch.outcome))
    return found


TEMPLATES = {
    "plain": "a{{ 1 }}b{{ none }}{{ undefined_name }}c",
    "loop": "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}",
    "macro": "{% macro f(m) %}[{{ m.role }}:{{ m.content }}]{% endmacro %}"
    "{% for m in messages %}{{ f(m) }}{% endfor %}",
    "macro-in-expression": "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ 'a' ~ f(1) ~ 'b' }}{{ f(2) | upper }}",
    "set-block": "{% set x %}<{{ messages[0].content }}>{% endset %}{{ x }}{{ x }}",
    "set-block-with-filter": "{% set x | upper %}a{{ 'b' }}{% endset %}{{ x }}!",
    "filter-block": "{% filter upper %}a{{ messages[0].content }}{% endfilter %}b",
    "call-block": "{% macro f() %}({{ caller() }}){% endmacro %}{% call f() %}x{{ 1 }}{% endcall %}",
    "generation": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}|{% endfor %}",
    "recursive": "{% for x in [[1, [2]], [3]] recursive %}<{{ loop(x) if x is iterable else x }}>{% endfor %}",
    "namespace": "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t + m.role %}"
    "{% endfor %}{{ ns.t }}",
    "join": "{{ messages | map(attribute='role') | join(', ') }}",
    "join-of-blocks": "{% set x %}a{{ 1 }}{% endset %}{{ [x, x] | join('-') }}",
    "loopcontrols": "{% for m in messages %}{% if loop.index0 == 1 %}{% continue %}{% endif %}{{ m.role }}{% endfor %}",
    "whitespace": "{% for m in messages -%}\n   {{- m.role }}\n\n  {%- endfor %}\n  x \n",
    "crlf": "a\r\n{{ 1 }}\r\nb\r\n",
    "autoescape-like": "{{ '<&>' | e }}{{ '<b>' | safe }}",
    "raw": "{% raw %}{{ x }}{% endraw %}{{ 1 }}",
    "floats": "{{ 1.0 }}{{ [1, none] }}{{ {'a': 1} }}{{ true }}",
    "with": "{% with a = 'é' %}{{ a }}{% endwith %}",
    "empty": "",
    "strip": "{% set x %}  a {{ 1 }} {% endset %}{{ x.strip() }}",
    "index": "{% set x %}abc{% endset %}{{ x[1:] }}{{ x * 2 }}",
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_segments_are_the_text(name: str) -> None:
    template = ChatTemplate(TEMPLATES[name], PROFILE)
    plain = template.render(context())
    outcome, trace = template.trace(context())
    assert plain.error is None
    assert outcome.text == plain.text
    assert "".join(segment.text for segment in trace.segments) == plain.text


def test_segments_name_the_node_that_printed_them() -> None:
    template = ChatTemplate("<s>{% for m in messages %}[{{ m.role }}]{% endfor %}", PROFILE)
    _, trace = template.trace(context())
    assert segments(template, trace) == [
        ("<s>", "<s>"),
        ("[", "["), ("m.role", "user"), ("]", "]"),
        ("[", "["), ("m.role", "assistant"), ("]", "]"),
        ("[", "["), ("m.role", "tool"), ("]", "]"),
    ]  # fmt: skip
    roles = [s.occurrence[1] for s in trace.segments if s.text in ("user", "assistant", "tool")]
    assert roles == [0, 1, 2]


@pytest.mark.parametrize("name", ["macro", "set-block", "call-block", "generation"])
def test_what_a_block_prints_is_known_by_the_inner_node(name: str) -> None:
    template = ChatTemplate(TEMPLATES[name], PROFILE)
    _, trace = template.trace(context())
    expected = {
        "macro": [("[", "["), ("m.role", "user"), (":", ":"), ("m.content", "Hi"), ("]", "]")],
        "set-block": [("<", "<"), ("messages[0].content", "Hi"), (">", ">")],
        "call-block": [("(", "("), ("x", "x"), ("1", "1"), (")", ")")],
        "generation": [("m.content", "Hi"), ("|", "|")],
    }
    assert segments(template, trace)[: len(expected[name])] == expected[name]


def test_the_sites_that_print_a_piece_again_are_known_from_the_inside_out() -> None:
    source = "{% macro f(x) %}{{ x }}{% endmacro %}{% macro g(x) %}{{ f(x) }}{% endmacro %}{{ g('a') }}{{ 'b' }}"
    template = ChatTemplate(source, PROFILE)
    _, trace = template.trace(context())
    printers = [
        [
            source[template.sites[number].start : template.sites[number].end]
            for number in trace.passed.get(s.occurrence, [])
        ]
        for s in trace.segments
    ]
    assert printers == [["f(x)", "g('a')"], []]


def test_a_watched_text_is_known_by_what_prints_it_first() -> None:
    source = "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('abc') | upper }}{{ 'abc' }}"
    template = ChatTemplate(source, PROFILE)
    _, trace = template.trace(context(), Trace(watch="b"))
    assert trace.watched is not None
    assert source[template.sites[trace.watched].start : template.sites[trace.watched].end] == "x"
    assert template.trace(context(), Trace(watch="d"))[1].watched is None


def test_what_a_filter_has_changed_is_known_by_the_whole_expression() -> None:
    template = ChatTemplate(TEMPLATES["macro-in-expression"], PROFILE)
    outcome, trace = template.trace(context())
    assert outcome.text == "a<1>b<2>".replace("<2>", "<2>")
    assert segments(template, trace) == [("'a' ~ f(1) ~ 'b'", "a<1>b"), ("f(2) | upper", "<2>")]


def test_branches_in_the_order_they_were_taken() -> None:
    source = (
        "{% for m in messages if m.role != 'tool' %}"
        "{% if m.role == 'user' %}U{% elif loop.last %}L{% else %}E{% endif %}"
        "{{ 'g' if add_generation_prompt else 'n' }}"
        "{% endfor %}"
    )
    template = ChatTemplate(source, PROFILE)
    outcome, trace = template.trace(context())
    assert outcome.text == "UgLg"
    # A loop looks one item ahead, so its filter is asked before the body of the item before it.
    assert sorted(branches(template, trace)) == sorted(
        [
            ("m.role != 'tool'", 0, True), ("m.role != 'tool'", 1, True), ("m.role != 'tool'", 2, False),
            ("m.role == 'user'", 0, True), ("m.role == 'user'", 1, False), ("loop.last", 0, True),
            ("add_generation_prompt", 0, True), ("add_generation_prompt", 1, True),
        ]
    )  # fmt: skip
    orders = [branch.order for branch in trace.branches]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(orders)


def test_a_branch_outcome_is_a_truth_value() -> None:
    template = ChatTemplate("{% if messages %}a{% endif %}{% if nothing %}b{% endif %}{% if '' %}c{% endif %}", PROFILE)
    outcome, trace = template.trace(context())
    assert outcome.text == "a"
    assert branches(template, trace) == [("messages", 0, True), ("nothing", 0, False), ("''", 0, False)]


def forced(template: ChatTemplate, condition: str, occurrence: int, value: bool) -> str | None:
    text = template.source_map.text
    index = next(site.number for site in template.sites if text[site.start : site.end] == condition)
    return template.trace(context(), Trace(forced={(index, occurrence): value}))[0].text


def test_forcing_changes_one_occurrence_only() -> None:
    template = ChatTemplate("{% for m in messages %}{% if loop.last %}L{% else %}-{% endif %}{% endfor %}", PROFILE)
    assert template.render(context()).text == "--L"
    assert forced(template, "loop.last", 0, True) == "L-L"
    assert forced(template, "loop.last", 1, True) == "-LL"
    assert forced(template, "loop.last", 2, False) == "---"
    assert forced(template, "loop.last", 7, True) == "--L"


def test_forcing_an_inline_if_an_elif_and_a_loop_filter() -> None:
    template = ChatTemplate(
        "{{ 'p' if a else 'q' }}{% if b %}1{% elif c %}2{% else %}3{% endif %}"
        "{% for x in [1, 2] if d %}{{ x }}{% endfor %}",
        PROFILE,
    )
    assert template.render(context()).text == "q3"
    assert forced(template, "a", 0, True) == "p3"
    assert forced(template, "c", 0, True) == "q2"
    assert forced(template, "d", 1, True) == "q32"


def test_the_record_holds_the_forced_outcome() -> None:
    template = ChatTemplate("{% if a %}x{% endif %}", PROFILE)
    site = template.sites[0].number if template.sites[0].kind == "if" else template.sites[1].number
    _, trace = template.trace(context(), Trace(forced={(site, 0): True}))
    assert [branch.outcome for branch in trace.branches] == [True]


def test_suppressing_one_piece() -> None:
    template = ChatTemplate("{% for m in messages %}<{{ m.role }}>{% endfor %}</s>", PROFILE)
    text = template.source_map.text
    role = next(site.number for site in template.sites if text[site.start : site.end] == "m.role")
    end = next(site.number for site in template.sites if text[site.start : site.end] == "</s>")
    outcome, trace = template.trace(context(), Trace(suppressed=frozenset({(role, 1), (end, 0)})))
    assert outcome.text == "<user><><tool>"
    assert "".join(segment.text for segment in trace.segments) == "<user><><tool>"


def test_suppressing_inside_a_macro_and_a_set_block() -> None:
    template = ChatTemplate(
        "{% macro f(x) %}({{ x }}){% endmacro %}{% set y %}{{ 'y' }}!{% endset %}{{ f(1) }}{{ y }}", PROFILE
    )
    text = template.source_map.text
    gone = {site.number for site in template.sites if text[site.start : site.end] in ("x", "'y'")}
    assert template.trace(context(), Trace(suppressed=frozenset((site, 0) for site in gone)))[0].text == "()!"


def test_a_traced_error_is_the_plain_error() -> None:
    template = ChatTemplate("a\n{% if messages %}\n{{ raise_exception('no ' ~ messages[0].role) }}{% endif %}", PROFILE)
    plain, traced = template.render(context()), template.trace(context())[0]
    assert plain == traced
    assert (plain.text, plain.error, plain.message, plain.line, plain.refused) == (
        None,
        "TemplateError",
        "no user",
        3,
        True,
    )


def test_an_error_after_a_counterfactual_is_an_outcome() -> None:
    template = ChatTemplate("{% if tools %}{{ tools.x.y }}{% endif %}ok", PROFILE)
    assert forced(template, "tools", 0, True) is None
    assert template.render(context()).text == "ok"


def test_traces_do_not_see_each_other() -> None:
    template = ChatTemplate("{% for m in messages %}{% if loop.first %}F{% endif %}{% endfor %}", PROFILE)
    _, first = template.trace(context())
    _, second = template.trace(context())
    assert first.branches == second.branches
    assert first.segments == second.segments


@pytest.mark.parametrize(
    "source",
    [
        "a\0b{{ '\\0' }}\0emit(0\0{% if tools %}\0branch(0\0{% endif %}\0)\0",
        "{% set x %}<{{ messages[0].content }}&{% endset %}{% autoescape true %}<{{ '<' }}{{ x }}{% endautoescape %}",
        "{% autoescape tools %}<{{ '<' }}{% endautoescape %}{{ 1 }}{{ none }}{{ 'a' ~ 2 }}{{ 0.5 }}{{ [1] }}",
        "{{ 'x' if tools else 'y' }}{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m('q')|upper }}{{ nothing }}|{{ self }}",
    ],
)
def test_the_code_without_marks_prints_what_jinja_prints(source: str) -> None:
    jinja = make_environment(PROFILE, JinjaEnvironment)
    for variables in (context(), context(tools=[{}])):
        template = ChatTemplate(source, PROFILE)
        expected = jinja.from_string(source).render(variables)
        outcome = template.render(variables)
        assert outcome.text == expected
        assert template.trace(variables)[0] == outcome


def test_a_tree_without_marks_is_compiled_as_jinja_does() -> None:
    source = "{% for m in messages %}{% if m.content %}{{ 'a' }}b{{ m.content }}{% endif %}{% endfor %}"
    ours, jinja = (make_environment(PROFILE, kind) for kind in (ChatEnvironment, JinjaEnvironment))
    assert ours.compile(source, raw=True) == jinja.compile(source, raw=True)
