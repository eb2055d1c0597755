"""Templates from a grammar, for hypothesis: mostly well-formed, over our messages, seldom sensible."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.hostile.attacks import FRAGMENTS


def _words(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from(text.split())


_NAMES = _words("messages tools m x ns add_generation_prompt eos_token loop nothing")
_KEYS = _words("role content tool_calls function arguments name __class__ format items")
_FILTERS = _words(
    "tojson length trim list join first last upper reverse string sort safe int items nothing batch(3) center(80) "
    "indent(4) map(attribute='role') selectattr('role','equalto','user') default('x') replace('a','b') "
    "attr('__cl'~'ass__') tojson(indent=2) groupby('role')"
)
_TESTS = _words("defined none string mapping iterable sequence number even in([1]) upper nothing")
_CONSTANTS = _words(
    "0 1 -1 99999 'a' '' '<think>' 'magic' none true [] ['a','b'] {} {'a':1} range(9) namespace(a=1) dict(a=1) "
    "strftime_now('%Y') lipsum() cycler('a') messages[0] 1.5"
)
_OPERATORS = _words("== != < > in and or + - * ** ~ // %") | st.just("not in")


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}.{}".format, inner, _KEYS),
        st.builds("{}['{}']".format, inner, _KEYS),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}[{}:]".format, inner, inner),
        st.builds("({}|{})".format, inner, _FILTERS),
        st.builds("({} is {})".format, inner, _TESTS),
        st.builds("({} {} {})".format, inner, _OPERATORS, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("{}({})".format, inner, inner),
        st.builds("(not {})".format, inner),
    )


expressions = st.recursive(st.one_of(_NAMES, _CONSTANTS), _grow, max_leaves=8)
_STRIP = st.sampled_from(("", "-"))


def _statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{{%{2} if {0} %}}{1}{{% endif {2}%}}".format, expressions, inner, _STRIP),
        st.builds(
            "{{% if {0} %}}{1}{{% elif {2} %}}{3}{{% else %}}x{{% endif %}}".format,
            expressions,
            inner,
            expressions,
            inner,
        ),
        st.builds("{{% for m in {0} %}}{1}{{% endfor %}}".format, st.one_of(st.just("messages"), expressions), inner),
        st.builds("{{% for m in messages if {0} %}}{1}{{% endfor %}}".format, expressions, inner),
        st.builds("{{% set x %}}{0}{{% endset %}}".format, inner),
        st.builds("{{% macro f(x) %}}{0}{{% endmacro %}}{{{{ f({1}) }}}}".format, inner, expressions),
        st.builds("{{% generation %}}{0}{{% endgeneration %}}".format, inner),
        st.builds("{{% filter upper %}}{0}{{% endfilter %}}".format, inner),
        st.builds("{{% with x = {0} %}}{1}{{% endwith %}}".format, expressions, inner),
        st.builds("{}{}".format, inner, inner),
    )


_pieces = st.one_of(
    st.builds("{{{{ {0} }}}}".format, expressions),
    st.builds("{{{{- {0} -}}}}".format, expressions),
    st.builds("{{% set x = {0} %}}".format, expressions),
    st.builds("{{% set ns.a = {0} %}}".format, expressions),
    st.sampled_from(("<|user|>", "\n", "{# note #}", "{% break %}", "{% continue %}", "{{ raise_exception('no') }}")),
    st.sampled_from(FRAGMENTS),
)
templates = st.recursive(_pieces, _statements, max_leaves=10)
"""Sources of templates."""
