"""The environment that templates see: filters, globals, the sandbox; by profile."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from template_lint.rendering.environment import ChatEnvironment, make_environment, pinned_now
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate, Outcome

P457, P521, P523, P524 = (parse_profile(text) for text in ("4.57", "5.21", "5.23", "5.24"))


def render(source: str, profile: Any = P524, **variables: Any) -> Outcome:
    return ChatTemplate(source, profile).render(variables)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ x|tojson }}", '{"b": "é<&\'>", "a": [1, 1.0, null, true]}'),
        ("{{ x|tojson(true) }}", '{"b": "\\u00e9<&\'>", "a": [1, 1.0, null, true]}'),
        ("{{ x|tojson(ensure_ascii=True) }}", '{"b": "\\u00e9<&\'>", "a": [1, 1.0, null, true]}'),
        ("{{ [1]|tojson(false, 2) }}", "[\n  1\n]"),
        ("{{ [1]|tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ [1, 2]|tojson(separators=(',', ':')) }}", "[1,2]"),
        ("{{ {'a': 1}|tojson(false, none, (', ', '=')) }}", '{"a"=1}'),
        ("{{ x|tojson(sort_keys=true) }}", '{"a": [1, 1.0, null, true], "b": "é<&\'>"}'),
        ("{{ x|tojson(false, none, none, true) }}", '{"a": [1, 1.0, null, true], "b": "é<&\'>"}'),
    ],
)
def test_tojson(source: str, expected: str) -> None:
    for profile in (P457, P524):
        assert render(source, profile, x={"b": "é<&'>", "a": [1, 1.0, None, True]}).text == expected


def test_tojson_of_odd_values() -> None:
    assert render("{{ x|tojson }}", x=float("nan")).text == "NaN"
    failed = render("{{ nothing|tojson }}")
    assert (failed.error, failed.message) == ("TypeError", "Object of type Undefined is not JSON serializable")


def test_the_clock_is_pinned() -> None:
    assert pinned_now() == datetime.datetime(2026, 1, 15, 12, 30)
    assert render("{{ strftime_now('%Y-%m-%d %H:%M:%S') }}").text == "2026-01-15 12:30:00"
    other = ChatTemplate("{{ strftime_now('%d %b %Y') }}", P524, clock=lambda: datetime.datetime(2024, 7, 26))
    assert other.render({}).text == "26 Jul 2024"
    assert other.trace({})[0].text == "26 Jul 2024"


def test_raise_exception_is_the_templates_own_refusal() -> None:
    failed = render("\n\n{{ raise_exception('Only ' ~ 1) }}")
    assert failed == Outcome(None, "TemplateError", "Only 1", 3, True)


@pytest.mark.parametrize(
    "source",
    ["{{ x.append(1) }}", "{{ x.pop() }}", "{{ d.update({'a': 1}) }}", "{{ d.clear() }}", "{% set _ = x.extend([1]) %}",
     "{{ x.sort() }}", "{{ d.setdefault('k', 1) }}", "{{ d.pop('k') }}", "{{ x.__class__ }}{{ x.__class__.__mro__ }}",
     "{{ x.insert(0, 1) }}", "{{ x.remove(1) }}", "{{ x.reverse() }}", "{{ d.popitem() }}", "{{ x.__init__() }}"],
)  # fmt: skip
def test_the_sandbox_refuses_what_changes_data(source: str) -> None:
    x, d = [1], {"k": 1}
    for profile in (P457, P524):
        failed = render(source, profile, x=x, d=d)
        assert failed.error == "SecurityError"
        assert not failed.refused
    assert (x, d) == ([1], {"k": 1})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ dict(a=1) }}", "{'a': 1}"),
        ("{{ dict([('a', 1)], b=2) }}", "{'a': 1, 'b': 2}"),
        ("{{ dict.fromkeys(['a']) }}", "{'a': None}"),
        ("{% set n = namespace(a=1, self=2) %}{% set n.a = 3 %}{{ n.a }}{{ n.self }}", "32"),
        ("{% set n = namespace({'a': 1}) %}{{ n.a }}", "1"),
        ("{{ range(3)|list }}", "[0, 1, 2]"),
        ("{{ joiner('-')() }}{{ cycler(1, 2).next() }}", "1"),
        ("{{ lipsum(1, false)|length > 10 }}", "True"),
    ],
)
def test_globals_of_every_profile(source: str, expected: str) -> None:
    for profile in (P457, P521, P523, P524):
        assert render(source, profile).text == expected


def test_dict_is_restricted_from_5_23() -> None:
    # In 4.57 ``dict.from_keys`` subscripts the type, which can be called.
    assert render("{{ dict.from_keys([('a', 1)]) }}", P457).text == "{'a': 1}"
    for profile in (P523, P524):
        outcome = render("{{ dict.from_keys([('a', 1)]) }}", profile)
        assert outcome.error == "UndefinedError"
        named = "'transformers.utils.chat_template_utils.TemplateDict object'"
        assert outcome.message == f"{named} has no attribute 'from_keys'"


def test_namespace_is_restricted_from_5_23() -> None:
    for source in ("{% set n = namespace(_a=1) %}{{ n._a|length }}", "{% set n = namespace() %}{% set n._a = 1 %}x"):
        assert render(source, P457).error in (None, "SecurityError", "TypeError")
        for profile in (P523, P524):
            assert render(source, profile).error == "SecurityError"
    assert render("{% set n = namespace() %}{% set n._a = 1 %}x", P457).text == "x"


@pytest.mark.parametrize(
    "source", ["{% do x.append(1) %}", "{{ _('x') }}{% trans %}x{% endtrans %}", "{% debug %}", "{% endgeneration %}"]
)
def test_other_extensions_are_not_there(source: str) -> None:
    assert render(source).error == "TemplateSyntaxError"


def test_includes_and_imports_find_nothing() -> None:
    for source in ("{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}"):
        assert render(source).error == "TypeError"


def test_undefined_prints_nothing_and_raises_deeper() -> None:
    assert render("[{{ a }}{{ a.b is defined }}]").error == "UndefinedError"
    assert render("[{{ a }}{% if a %}x{% endif %}{% for b in a %}y{% endfor %}]").text == "[]"


@pytest.mark.parametrize("end", ["send(none)", "close()"])
def test_a_method_that_comes_to_an_end_gives_undefined(end: str) -> None:
    source = "{% set g = ['a']|map('upper') %}{{ g." + end + " or '' }}<{{ g.send(none) }}>"
    assert render(source).text == ("A<>" if end == "send(none)" else "<>")
    assert render(source + "{{ g.send(none).more }}").error == "UndefinedError"


def test_nothing_is_escaped_and_the_last_newline_goes() -> None:
    assert render("{{ '<&>' }}\n").text == "<&>"
    assert render("{{ '<&>' }}\n\n").text == "<&>\n"


def test_white_space_settings() -> None:
    assert render("a\n  {% if true %}\nb\n  {% endif %}\nc").text == "a\nb\nc"


def test_a_missing_filter_only_where_it_is_reached() -> None:
    assert render("{{ 'x'|from_json }}").error == "TemplateSyntaxError" or render("{{ 'x'|from_json }}").error
    assert render("{% if false %}{{ x|from_json }}{% endif %}ok").text == "ok"
    failed = render("{% if true %}{{ x|from_json }}{% endif %}")
    assert (failed.error, failed.message) == ("TemplateRuntimeError", "No filter named 'from_json' found.")


def test_environments_share_nothing() -> None:
    one, two = (make_environment(P524, ChatEnvironment) for _ in range(2))
    one.globals["x"] = 1
    one.filters["x"] = str
    assert "x" not in two.globals
    assert "x" not in two.filters
    assert one.lexer is not two.lexer
