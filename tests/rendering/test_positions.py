"""Columns and offsets of every kind of node, whatever the source does to white space and newlines."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import nodes

from template_lint.rendering.positions import Position, normalise_newlines, offset_of, walk
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate

PROFILE = parse_profile("5.24")


def parse(source: str) -> ChatTemplate:
    template = ChatTemplate(source, PROFILE)
    _ = template.tree
    return template


def sites(source: str) -> list[tuple[str, str]]:
    """(kind, text) of every traced place, in source order."""
    template = parse(source)
    ordered = sorted(template.sites, key=lambda site: (site.start, site.end))
    return [(site.kind, template.source_map.text[site.start : site.end]) for site in ordered]


# The condition of an if or elif, cut out of the source.
CONDITIONS = [
    ("{% if a %}x{% endif %}", ["a"]),
    ("{%if(a)%}x{%endif%}", ["(a)"]),
    ("{%- if  a and\tb  -%}x{%- endif -%}", ["a and\tb"]),
    ("{%+ if a +%}x{%+ endif +%}", ["a"]),
    ("{% if a %}x{% elif b == 'é%}' %}y{% elif not c %}z{% else %}w{% endif %}", ["a", "b == 'é%}'", "not c"]),
    ("{% if a %}{% if b %}x{% endif %}{% elif c %}y{% endif %}", ["a", "b", "c"]),
    (
        "{% if a is defined and b[1:-1] | length > (2 + 3) * 4 %}x{% endif %}",
        ["a is defined and b[1:-1] | length > (2 + 3) * 4"],
    ),
    ("{% if x.y['z'](1, k={'a': [1, (2,)]}) %}x{% endif %}", ["x.y['z'](1, k={'a': [1, (2,)]})"]),
    ("é🎉\n{# 🎉 #}\n   {% if 🎉_ is not defined %}{% endif %}".replace("🎉_", "name"), ["name is not defined"]),
    ("{% if\n  a\n  or\n  b\n%}x{% endif %}", ["a\n  or\n  b"]),
    ("{% if a\r\n or b %}x\r\n{% endif %}\r\n", ["a\n or b"]),
    ("\t\t{% if a %}\t{% endif %}\t", ["a"]),
    ("{% if (a) %}x{% endif %}", ["(a)"]),
    ("{% if {'a': 1}[b] %}x{% endif %}", ["{'a': 1}[b]"]),
    ("{% if 'if' %}x{% elif 'elif' %}y{% endif %}", ["'if'", "'elif'"]),
    ("{% raw %}{% if no %}{% endraw %}{% if yes %}x{% endif %}", ["yes"]),
    ("{# {% if no %} #}{% if yes %}x{% endif %}", ["yes"]),
    (
        "{% for m in [1] %}{% if loop.last or (not loop.last and m) %}x{% endif %}{% endfor %}",
        ["loop.last or (not loop.last and m)"],
    ),
    ("{% macro f(x) %}{% if x %}1{% endif %}{% endmacro %}{% set y %}{% if z %}2{% endif %}{% endset %}", ["x", "z"]),
    ("{% generation %}{% if a %}x{% endif %}{% endgeneration %}", ["a"]),
    ("{% filter upper %}{% if a %}x{% endif %}{% endfilter %}", ["a"]),
    ("{% call f() %}{% if a %}x{% endif %}{% endcall %}", ["a"]),
]


@pytest.mark.parametrize(("source", "expected"), CONDITIONS)
def test_the_range_of_an_if_is_exactly_its_condition(source: str, expected: list[str]) -> None:
    assert [text for kind, text in sites(source) if kind in ("if", "elif")] == expected


def test_elif_is_told_from_if() -> None:
    found = sites("{% if a %}{% elif b %}{% else %}{% if c %}{% endif %}{% endif %}")
    assert found == [("if", "a"), ("elif", "b"), ("if", "c")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'p' if c else 'q' }}", "c"),
        ("{{ ('p' if c.d == 2 else 'q') ~ r }}", "c.d == 2"),
        ("{{ 'p' if c and d }}", "c and d"),
        ("{{ ['p' if (c or d).e == 1 else 'q'] }}", "(c or d).e == 1"),
        ("{{ f('p' if c, 1) }}", "c"),
        ("{{ ['p' if c|length > 1 else 'q'] }}", "c|length > 1"),
        ("{{- 'p' if not c else 'q' -}}", "not c"),
        ("{% set x = 'p' if c is none else 'q' %}", "c is none"),
        ("\r\n\r\n{{ 'é🎉' if c else '🎉' }}", "c"),
    ],
)
def test_inline_if(source: str, expected: str) -> None:
    assert [text for kind, text in sites(source) if kind == "inline-if"] == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for m in messages if m.role %}{{ m }}{% endfor %}", "m.role"),
        ("{%- for m in messages if m.role == 'user' and m.content -%}x{% endfor %}", "m.role == 'user' and m.content"),
        ("{% for k, v in d|dictsort if v recursive %}x{% endfor %}", "v"),
        ("{% for m in messages if not m['tool'] %}x{% else %}y{% endfor %}", "not m['tool']"),
    ],
)
def test_loop_filter(source: str, expected: str) -> None:
    assert [text for kind, text in sites(source) if kind == "loop-filter"] == [expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a{{ b }}c", ["a", "b", "c"]),
        ("{{ b }}{{ b }}", ["b", "b"]),
        ("{{ a ~ b|upper }}", ["a ~ b|upper"]),
        ("{{ a[1:] + '}}' }}", ["a[1:] + '}}'"]),
        ("{{ f(x, y=1) }}!", ["f(x, y=1)", "!"]),
        ("{{ 'p' if c else 'q' }}", ["'p' if c else 'q'"]),
        ("{{ -a }}{{ (a, b) }}{{ [a] }}{{ {'k': a} }}", ["-a", "a, b", "[a]", "{'k': a}"]),
        ("{{ (a or [b])[0].c }}{{ ((a ~ b) | trim).x + c }}", ["(a or [b])[0].c", "((a ~ b) | trim).x + c"]),
        ("{{ f([(a or b).c, d]) }}{{ (a) }}", ["f([(a or b).c, d])", "a"]),
        ("  {{- b -}}  x", ["b", "x"]),
        ("{% raw %}{{ no }}{% endraw %}", ["{{ no }}"]),
        ("x{# {{ no }} #}y", ["x", "y"]),
        ("é🎉{{ b }}\t🎉", ["é🎉", "b", "\t🎉"]),
        ("a\r\nb\rc{{ d }}\r\n", ["a\nb\nc", "d"]),
    ],
)
def test_printed_pieces(source: str, expected: list[str]) -> None:
    assert [text for kind, text in sites(source) if kind == "output"] == expected


def test_offsets_of_two_same_expressions_differ() -> None:
    template = parse("{{ b }}{{ b }}")
    assert sorted((site.start, site.end) for site in template.sites) == [(3, 4), (10, 11)]


def test_lines_and_columns_count_code_points() -> None:
    template = parse("🎉é\r\n\t{% if a %}x{% endif %}\n{{ b }}")
    places = {
        text: template.source_map.place(site.start, site.end)
        for site in template.sites
        for text in [template.source_map.text[site.start : site.end]]
    }
    # "🎉é\n" is 3 characters, then a tab, then "{% if ".
    assert places["a"] == (2, 8, 2, 9, 10, 11)
    assert places["b"] == (3, 4, 3, 5, 30, 31)


def test_a_place_may_span_lines() -> None:
    template = parse("{% if a\n or b %}{% endif %}")
    site = template.sites[0]
    assert template.source_map.place(site.start, site.end) == (1, 7, 2, 6, 6, 13)


def test_end_of_source_is_a_place() -> None:
    source_map = parse("ab\nc").source_map
    assert source_map.line_column(0) == (1, 1)
    assert source_map.line_column(2) == (1, 3)
    assert source_map.line_column(3) == (2, 1)
    assert source_map.line_column(4) == (2, 2)


EVERY_NODE = (
    "{% set ns = namespace(a=1) %}{% set ns.a = 2 %}{% set b %}x{% endset %}{% macro f(x, y=1) %}{{ x }}{% endmacro %}"
    "{% for i, j in [(1, 2)] if i recursive %}{{ loop.index }}{% continue %}{% break %}{% else %}n{% endfor %}"
    "{% if a and b or not c %}{% elif a in b and c not in d %}{% else %}{% endif %}"
    "{% call(u) f(1) %}{{ caller() }}{% endcall %}{% filter upper %}y{% endfilter %}"
    "{% with q = 1 %}{{ q }}{% endwith %}"
    "{{ a.b['c'][1:2:3](1, *d, k=2, **e)|default('x', true) is divisibleby 3 }}"
    "{{ 1 + 2 - 3 * 4 / 5 // 6 % 7 ** 8 ~ 'z' }}{{ -a }}{{ +a }}{{ (1, 2) }}{{ {'k': none, 'l': true} }}"
    "{{ 'p' if a else 'q' }}{{ a == 1 != 2 }}{% generation %}g{% endgeneration %}"
)


def test_every_node_knows_its_offset() -> None:
    template = parse(EVERY_NODE)
    kinds = set()
    for node in walk(template.tree):
        if isinstance(node, nodes.Template):
            continue
        kinds.add(type(node).__name__)
        if isinstance(node, nodes.Operand):
            assert offset_of(node) == -1
        elif getattr(node, "lineno", None) is not None:
            assert isinstance(node.lineno, Position), node
            assert 0 <= offset_of(node) < len(EVERY_NODE), node
    assert {
        "If",
        "For",
        "CondExpr",
        "Operand",
        "Getattr",
        "Getitem",
        "Slice",
        "Call",
        "Macro",
        "CallBlock",
        "Test",
        "FilterBlock",
        "AssignBlock",
        "NSRef",
        "Concat",
        "Neg",
        "Dict",
        "Tuple",
        "Continue",
        "Break",
    } <= kinds


def test_names_and_constants_are_where_they_are_written() -> None:
    template = parse(EVERY_NODE)
    for node in walk(template.tree):
        if isinstance(node, nodes.Name) and node.name != "loop":
            offset = offset_of(node)
            assert EVERY_NODE[offset : offset + len(node.name)] == node.name
        if isinstance(node, nodes.Const) and isinstance(node.value, int) and not isinstance(node.value, bool):
            offset = offset_of(node)
            assert EVERY_NODE[offset : offset + len(str(node.value))] == str(node.value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\r\nb", "a\nb"),
        ("a\rb\n", "a\nb"),
        ("a\n\n", "a\n"),
        ("", ""),
        ("\r\n", ""),
        ("a\n\r", "a\n"),
        ("a\x0bb\u2028c", "a\x0bb\u2028c"),
    ],
)
def test_newlines_are_those_of_jinja(source: str, expected: str) -> None:
    assert normalise_newlines(source) == expected
    assert parse(source).render({}).text == expected


PIECES = st.sampled_from(
    ["{% if a %}", "{%- if a -%}", "{% elif b %}", "{% else %}", "{% endif %}", "{%+ endif +%}", "{{ a }}",
     "{{- b|e -}}", "{# c #}", "{#- 🎉\n-#}", "{% raw %}{{ r }}{% endraw %}", "{%- raw -%} {% if %} {%- endraw -%}",
     "{% for x in [1, 2] %}", "{% endfor %}", "{{ 'é\\n' ~ \"}}\" }}", "{% set s = {'k': [1]} %}", "\r\n", "\n", "\t",
     "  ", "🎉", "é", "{", "}", "%", "#", "text"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14))
def test_each_token_is_cut_out_by_its_offset(pieces: list[str]) -> None:
    source = "".join(pieces)
    template = ChatTemplate(source, PROFILE)
    lexer = template.environment.lexer
    try:
        triples = list(lexer.tokeniter(source, None))
    except jinja2.TemplateSyntaxError:
        triples = []
    text = normalise_newlines(source)
    end = 0
    for token in lexer.tokens:
        assert text[token.offset : token.end] == token.text
        assert token.offset >= end
        # Nothing but white space is ever lost between two tokens.
        assert text[end : token.offset].strip() == ""
        end = token.end
    for line, kind, value in triples:
        if kind != "whitespace":  # the parser never sees it
            assert isinstance(line, Position)
            assert text.startswith(value, line.offset)


@pytest.mark.parametrize("limits", [{}, {"only": ("body",)}, {"exclude": ("body", "test")}, {"only": ()}])
def test_a_node_remembers_the_children_that_jinja_finds(limits: dict[str, tuple[str, ...]]) -> None:
    source = (
        "{% macro m(a, b=1) %}{{ a[b:2] }}{% endmacro %}"
        "{% for x in [1, 2] if x is not none recursive %}{{ m(x, **k) if x else {'a': -x} }}{% else %}none{% endfor %}"
        "{% set y %}{% filter upper %}{{ 'a' ~ y | join(',') }}{% endfilter %}{% endset %}"
        "{% if a and not b %}1{% elif c > 2 %}2{% else %}{% generation %}3{% endgeneration %}{% endif %}"
    )
    nodes_seen = list(walk(ChatTemplate(source, PROFILE).tree))
    assert len(nodes_seen) > 50
    for node in nodes_seen:
        assert list(node.iter_child_nodes(**limits)) == list(nodes.Node.iter_child_nodes(node, **limits))


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14))
def test_the_plain_lexer_of_jinja_sees_the_same_tokens(pieces: list[str]) -> None:
    source = "".join(pieces)
    plain = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)

    def tokens(lexer: Any) -> Any:
        try:
            return [(int(line), kind, value) for line, kind, value in lexer.tokeniter(source, None)]
        except jinja2.TemplateSyntaxError as error:
            return str(error)

    assert tokens(ChatTemplate(source, PROFILE).environment.lexer) == tokens(plain.lexer)


CONDITION_TEXT = st.sampled_from(
    ["a", "not a", "a and b", "(a or b) and c", "a == 'x'", "a is defined", "a|length > 1",
     "messages[-1].role != 'tool'", "loop.last", "a in ['if', 'else']", "{'a': 1}.a", "f(a, b)[1:]", "'%}' in a",
     "(a,\n b)[0]", "(a if b else c)", "-1", "'🎉' ~ a"]
)  # fmt: skip
OPEN = st.sampled_from(["{% if ", "{%- if ", "{%+ if\n", "{%if ", "\t{% if\t"])
CLOSE = st.sampled_from([" %}", " -%}", "\n+%}", "%}"])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(OPEN, CONDITION_TEXT, CLOSE), min_size=1, max_size=5),
    st.sampled_from(["", "🎉\r\n", "{# if #}"]),
)
def test_property_if_ranges(parts: list[tuple[str, str, str]], lead: str) -> None:
    source = lead + "".join(f"{opened}{condition}{closed}x" for opened, condition, closed in parts)
    source += "{% endif %}" * len(parts)
    assert [text for kind, text in sites(source) if kind == "if"] == [condition for _, condition, _ in parts]
