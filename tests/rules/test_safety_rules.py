"""TL501 to TL507: what they find, where, and what they leave alone."""

from __future__ import annotations

import pytest

from template_lint.model import Finding, Severity
from tests.rules.helper import check_rule, excerpt

CHAT = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__ }}",
        "{{ ''['__class__']['__mro__'] }}",
        "{{ ''|attr('__class__') }}",
        "{{ ''|attr('__cl' ~ 'ass__') }}",
        "{{ ''['__cl' + 'ass__'] }}",
        "{{ ''[['__cl','ass__']|join] }}",
        "{{ ''[['__cl','ass__']|join('')] }}",
        "{{ ''['__clAss__'|lower] }}",
        "{{ ''['__ssalc__'[::-1]] }}",
        "{{ ''['__ssalc__'|reverse] }}",
        "{{ ''['XXclassXX'|replace('X','_')] }}",
        "{{ ''['XXclassXX'.replace('X','_')] }}",
        "{{ ''['%s%s%s'|format('__','class','__')] }}",
        "{{ ''['%s%s%s' % ('__','class','__')] }}",
        "{{ ''['{}class{}'.format('__','__')] }}",
        r"{{ ''['\x5f\x5fclass\x5f\x5f'] }}",
        "{% set a = '__class__' %}{{ ''[a] }}",
        "{% set a = '__cla' %}{% set b = a ~ 'ss__' %}{{ ''|attr(b) }}",
        "{% set a %}__class__{% endset %}{{ ''[a] }}",
        "{% set a %}__{{ 'class' }}__{% endset %}{{ ''[a] }}",
        "{% macro m() %}__class__{% endmacro %}{{ ''[m()] }}",
        "{% macro m(x, k) %}{{ x[k] }}{% endmacro %}{{ m('', '__class__') }}",
        "{% for k in ['a', '__class__'] %}{{ ''[k] }}{% endfor %}",
        "{{ ''[dict(__cla=1, ss__=1)|join] }}",
        "{{ ''[dict(__class__=1)|list|first] }}",
        "{{ messages|map(attribute='__class__')|list }}",
        "{{ messages|map('attr', '__class__')|list }}",
        "{{ messages|groupby('__class__') }}",
        "{{ messages|selectattr('content.__class__')|list }}",
        "{{ messages|sort(attribute='__class__') }}",
        "{% set f = 'a'.format %}{{ f(1) }}",
        "{{ 'a'|attr('format') }}",
        "{{ 'a{0.__class__}'.format(1) }}",
        "{{ 'a'.format_map({}) }}",
        "{{ lipsum[(messages[0].content)] }}",
        "{{ lipsum|attr(messages[0].content) }}",
        "{% set ns = namespace(k='__cla') %}{% set ns.k = ns.k ~ 'ss__' %}{{ ''[ns.k] }}",
        "{{ ''['%c%c' % (95, 95) ~ 'class__'] }}",
        "{% with k = '__class__' %}{{ ''[k] }}{% endwith %}",
        "{% set k, j = '__class__', 1 %}{{ ''[k] }}",
        "{{ ''[('__class__',)|first] }}",
        "{{ ''['__class__' if messages else 'x'] }}",
        "{{ ''[{'a':'__class__'}['a']] }}",
        "{{ ''[{'a':'__class__'}.a] }}",
        "{% set u = '_' * 2 %}{{ ''[u ~ 'class' ~ u] }}",
        "{{ ''[messages[0].nothing or '__class__'] }}",
        "{{ ''[x|default('__class__')] }}",
        "{{ ''['a__class__b'[1:-1]] }}",
        "{{ ''['__class__ x'.split(' ')[0]] }}",
        "{{ (messages|map('upper')).gi_frame }}",
        "{{ self._TemplateReference__context }}",
        "{{ ''['__CLASS__'.lower()] }}",
        r"{{ ''['\u005f_class__'] }}",
        "{{ ''['__class__'|trim|string] }}",
        "{{ messages[0]['__class__'|upper|lower] }}",
        "{% call(x) f() %}{{ x.__class__ }}{% endcall %}",
    ],
)
def test_names_that_lead_out_of_the_sandbox_are_found_in_the_source(source: str) -> None:
    findings = check_rule("TL501", source)
    assert findings
    assert any(finding.place is not None and excerpt(source, finding) for finding in findings)


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''[(lipsum|string)[18]*2 ~ 'class' ~ (lipsum|string)[18]*2] }}",
    ],
)
def test_names_that_only_a_render_knows_are_found_there(source: str) -> None:
    [finding] = check_rule("TL501", source)
    assert "a render asked" in finding.message
    assert finding.place is not None


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content[-1] }}",
        "{{ '{}'.format(1) }}{{ messages[0].format }}{{ messages[0]['format'] }}",
        "{% for k, v in messages[0].items() %}{{ k }}{{ messages[0][k] }}{% endfor %}",
        "{% for p in tools %}{{ p.function.parameters.format }}{% endfor %}",
        "{{ '__class__' }}{{ '{0._x}' }}",
        "{% set m = {'a': 1} %}{{ m[messages[0].role] }}",
    ],
)
def test_ordinary_reads_are_no_unsafe_access(source: str) -> None:
    assert check_rule("TL501", source) == []


def test_a_chain_is_one_finding_that_names_each_step() -> None:
    [finding] = check_rule("TL501", "{{ ''.__class__.__mro__[1].__subclasses__() }}")
    assert finding.evidence["names"] == ["__class__", "__mro__", "__subclasses__"]


def test_unsafe_access_in_a_branch_that_no_render_takes() -> None:
    source = CHAT + "{% if messages[0].content == 'zz' %}{{ cycler['__in' ~ 'it__'] }}{% endif %}"
    [finding] = check_rule("TL501", source)
    assert excerpt(source, finding) == "['__in' ~ 'it__']"
    assert finding.evidence == {"names": ["__init__"], "assembled": True}


@pytest.mark.parametrize(
    ("source", "method"),
    [
        ("{% set x = [] %}{% set _ = x.append(1) %}", "append"),
        ("{% if never %}{{ messages[0].update({}) }}{% endif %}", "update"),
        ("{{ messages.pop(0) }}", "pop"),
        ("{{ messages['re' ~ 'verse']() }}", "reverse"),
    ],
)
def test_methods_that_change_their_list_are_refused(source: str, method: str) -> None:
    [finding] = check_rule("TL502", source)
    assert finding.evidence["method"] == method
    assert finding.severity is Severity.ERROR
    assert method in finding.message
    assert "raises SecurityError when the call is reached" in finding.message


def test_the_finding_says_whether_a_render_reached_the_line() -> None:
    [reached] = check_rule("TL502", "{{ messages.append(1) }}")
    [hidden] = check_rule("TL502", "{% if never %}{{ messages.append(1) }}{% endif %}")
    assert reached.evidence["reached"] and "a render reached it on a list" in reached.message
    assert not hidden.evidence["reached"] and "render" not in hidden.message


@pytest.mark.parametrize("source", ["{{ messages[0].content.replace('a', 'b') }}", "{{ messages|sort|reverse }}", CHAT])
def test_what_changes_nothing_is_not_refused(source: str) -> None:
    assert check_rule("TL502", source) == []


@pytest.mark.parametrize(
    "condition",
    [
        "'magic' in m.content",
        "'magic' in m['content']|lower",
        "m.content == 'magic'",
        "m.content.startswith('magic')",
        "m.content.find('magic') >= 0",
        "m.content.split('magic')|length > 1",
        "'ma' ~ 'gic' in m.get('content')",
        "m.content[:5] == 'magic'",
        "m.content in ['magic', 'word']",
        "m.content is in(['magic'])",
        "{'magic': true}[m.content]",
        "{'magic': true}.get(m.content)",
        "messages|selectattr('content', 'equalto', 'magic')|list",
        "'magic' in (m.content|trim)",
        "m.content[0].text == 'magic'",
        "'magic' in (messages|tojson)",
        "'magic' in (m|string|lower)",
        "'magic' in (messages[1:]|last|tojson)",
        "m.content|replace('magic', '') != m.content",
        "m.content.replace('magic', '') != m.content",
    ],
)
def test_a_condition_on_the_words_of_a_message(condition: str) -> None:
    source = "{% for m in messages %}\n{% if " + condition + " %}x{% endif %}{{ m.content }}{% endfor %}"
    [finding] = check_rule("TL503", source)
    assert {"text": "magic", "line": 2} in finding.evidence["literals"]
    assert "'magic' (line 2)" in finding.message


def test_a_content_is_followed_through_names_macros_and_blocks() -> None:
    by_name = "{% set t = messages[0].content %}{% set u = t|lower %}{% if 'magic' in u %}x{% endif %}"
    by_macro = "{% macro f(t) %}{% if 'magic' in t %}x{% endif %}{% endmacro %}{{ f(messages[0].content) }}"
    by_block = "{% set t %}{{ messages[0].content }}{% endset %}{% if 'magic' in t %}x{% endif %}"
    by_namespace = "{% set n = namespace(t=messages[0].content) %}{% if n.t == 'magic' %}x{% endif %}"
    for source in (by_name, by_macro, by_block, by_namespace):
        assert len(check_rule("TL503", source)) == 1, source


def test_what_comes_late_in_a_long_template_is_found_too() -> None:
    tangled = "{% set t = m.content %}{% set t = t[1:] + t[:1] ~ t %}{% if t == m.content[0] %}x{% endif %}"
    late = "{% if m.content.startswith('magic') %}x{% endif %}"
    [finding] = check_rule("TL503", "{% for m in messages %}" + 12 * tangled + late + "{{ m.content }}{% endfor %}")
    assert [literal["text"] for literal in finding.evidence["literals"]] == ["magic"]


def test_a_name_that_was_not_followed_to_the_end_is_no_clean_template() -> None:
    tangled = "{% set t = t[1:] + t[:1] ~ t %}{{ messages[t] }}"
    name = "{% set name = '__cl' ~ 'ass__' %}{{ messages[name] }}"

    def found(count: int) -> list[Finding]:
        return check_rule("TL501", "{% if documents %}{% set t = 'ab' %}" + name + count * tangled + "{% endif %}")

    assert [finding.evidence["names"] for finding in found(2)] == [["__class__"]]
    [finding] = found(60)
    assert "not followed to the end" in finding.message and finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    "condition",
    [
        "'</think>' in m.content",
        "m.content.startswith('<tool_response>')",
        "m.content == ''",
        "'\\n' in m.content",
        "m.role == 'user'",
        "'/no_think' in m.content",
        "m.content is string",
        "'image' in m.content[0]",
        "m.content[0].type == 'image'",
        "'[INST]' in m.content",
        "m.tool_calls[0].function.name == 'search'",
        "'magic' in (tools|tojson)",
        "'magic' in (m.tool_calls|string)",
        "m.content|trim != m.content",
    ],
)
def test_markers_and_fields_are_no_trigger(condition: str) -> None:
    source = "{% for m in messages %}{% if " + condition + " %}x{% endif %}{{ m.content }}{% endfor %}"
    assert check_rule("TL503", source) == []


@pytest.mark.parametrize(
    ("character", "kind"),
    [
        ("\u200b", "zero-width"),
        ("\u202e", "bidirectional"),
        ("\U000e0041", "tag"),
        ("\ue000", "private-use"),
        ("\ufeff", "zero-width"),
        ("\u3164", "filler"),
        ("\U000e0101", "variation-selector"),
        ("\u200d", "zero-width"),
    ],
)
def test_characters_that_nobody_sees(character: str, kind: str) -> None:
    source = f"{CHAT}\n ab{character}cd"
    [finding] = check_rule("TL504", source)
    assert finding.evidence["kind"] == kind
    assert excerpt(source, finding) == character


@pytest.mark.parametrize(
    "text", ["\U0001f469\u200d\U0001f4bb", "می\u200cخواهم", "é — “x” 漢字", "❤\ufe0f", "{{ '\\u200b' }}"]
)
def test_characters_that_belong_there(text: str) -> None:
    assert check_rule("TL504", text + CHAT) == []


def test_invisible_characters_are_found_in_a_template_that_does_not_compile() -> None:
    assert len(check_rule("TL504", "{% if \u200b")) == 1


def test_a_forged_role_is_cut_out_where_it_is_printed() -> None:
    source = "{{ bos_token }}{% for m in messages %}\n{{ '<|' ~ m.role ~ '|>' }}{{ m.content }}{% endfor %}"
    [finding] = check_rule("TL506", source)
    assert excerpt(source, finding) == "'<|' ~ m.role ~ '|>'"
    assert "'<|zqrole|>zqquestion" in finding.message


def test_a_role_that_is_refused_or_only_compared_is_not_forged() -> None:
    compared = "{% for m in messages %}{% if m.role == 'user' %}U{% else %}A{% endif %}{{ m.content }}{% endfor %}"
    refused = (
        "{% for m in messages %}{% if m.role != 'user' %}{{ raise_exception('no') }}{% endif %}{{ m.role }}{% endfor %}"
    )
    assert check_rule("TL506", compared) == check_rule("TL506", refused) == []


def test_two_days_two_prompts() -> None:
    source = "Today: {{ strftime_now('%d %b %Y') }}\n" + CHAT
    [finding] = check_rule("TL507", source)
    assert finding.severity is Severity.WARNING
    assert "15 Jan 2026" in finding.message and "16 Feb 2027" in finding.message
    assert excerpt(source, finding) == "strftime_now('%d %b %Y')"


@pytest.mark.parametrize(
    "condition",
    [
        "strftime_now('%Y') == '2027'",
        "strftime_now('%Y')|int > 2026",
        "year >= 2027",
        "strftime_now('%Y-%m-%d').startswith('2027')",
    ],
)
def test_a_date_in_a_condition_is_an_error(condition: str) -> None:
    source = "{% set year = strftime_now('%Y')|int %}{% if " + condition + " %}x{% endif %}" + CHAT
    [finding] = check_rule("TL507", source)
    assert finding.severity is Severity.ERROR
    assert excerpt(source, finding) == condition


def test_whether_there_is_a_clock_is_no_condition_on_the_date() -> None:
    source = "{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% endif %}" + CHAT
    [finding] = check_rule("TL507", source)
    assert finding.severity is Severity.WARNING


def test_a_kwarg_that_takes_the_date_is_named() -> None:
    source = "{% if not date_string is defined %}{% set date_string = strftime_now('%d') %}{% endif %}{{ date_string }}"
    [finding] = check_rule("TL507", source + CHAT)
    assert finding.remedy == "Pass the template kwarg date_string, the same one in training and serving."
    [finding] = check_rule("TL507", "{{ strftime_now('%d') }}{{ start_date if start_date is defined }}" + CHAT)
    assert finding.remedy == "Print a date only where it is passed as a template kwarg."


def test_a_fixed_date_that_is_said_to_be_today() -> None:
    source = "{{ 'Today Date: ' ~ (date_string or '26 Jul 2024') }}" + CHAT
    [finding] = check_rule("TL507", source)
    assert excerpt(source, finding) == "26 Jul 2024"
    assert check_rule("TL507", "Knowledge ends 26 Jul 2024." + CHAT) == []
    assert check_rule("TL507", "{% if date_string %}Today Date: {{ date_string }}{% endif %}" + CHAT) == []
