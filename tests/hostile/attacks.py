"""Pieces of templates that hurt, to be put into other templates; and small ones that hurt by themselves."""

from __future__ import annotations

FRAGMENTS = (
    "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "{% set x = 'a' * 999999999 %}{{ x * 999999999 }}",
    "{{ 10 ** (10 ** 8) }}",
    "{{ 9 ** (9 ** 9) }}",
    "{{ (messages|length + 9) ** 99999999 }}",
    "{{ lipsum(n=1000000000) }}",
    "{{ lipsum(n=99999, max=99999) }}",
    "{{ '%9999999d'|format(1) }}",
    "{{ '%999999999s' % 'a' }}",
    "{{ '{:>999999999}'.format(1) }}",
    "{{ 'a'|center(999999999) }}",
    "{{ ('a\n' * 9999)|indent(99999) }}",
    "{{ [1]|batch(999999999, 'x')|list }}",
    "{{ ('a' * 99999)|wordwrap(1)|urlize|striptags|truncate(5) }}",
    "{{ ('<' * 99999 ~ '>')|striptags }}",
    "{{ ('http://a' * 9999)|urlize }}",
    "{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
    "{% macro g(n) %}{% if n %}{{ g(n - 1) }}{{ g(n - 1) }}{% endif %}{% endmacro %}{{ g(40) }}",
    "{% set ns = namespace(s='ab') %}{% for i in range(64) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% for a in [[1] * 999] * 999 recursive %}{{ loop(a) if a is iterable }}{% endfor %}",
    "{{ messages|tojson(indent=99999999) }}",
    "{{ [messages] * 99999 }}",
    "{{ messages|map('tojson')|join|replace('', 'x' * 9999) }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ cycler|attr('__in' ~ 'it__') }}",
    "{% set f = '{0.__class__}'.format %}{{ f(messages) }}",
    "{{ messages.append(messages) }}",
    "{{ messages[0].update({'role': messages}) }}",
    "{% set ns = namespace() %}{% set ns.n = ns %}{{ ns }}{{ ns|tojson }}",
    "{{ strftime_now('%' * 999) }}{{ strftime_now(messages) }}",
    "{{ raise_exception('x' * 999999) }}",
    "{{ raise_exception(messages) }}",
    "{% if strftime_now('%Y')|int > 2026 %}{{ 'x' * 99 }}{% endif %}",
    "{# " + "template-lint: ignore[TL501] because " * 99 + "#}",
    "{# template-lint: ignore[TL508] it is fine #}",
    "{#- template-lint: ignore[ -#}",
    "{{ " + "(" * 60 + "1" + ")" * 60 + " }}",
    "{{ 'a'" + " ~ 'b'" * 999 + " }}",
    "{{ a" + "[a" * 50 + "]" * 50 + " }}",
    "{{ x" + ".__a" * 300 + " }}",
    "{% set a = a ~ a %}" * 40,
    "".join(f"{{% set a{n + 1} = a{n} ~ a{n} %}}" for n in range(60)) + "{{ messages[a60] }}",
    "{% if " + " and ".join(["'magic' in messages[0].content"] * 60) + " %}x{% endif %}",
    "\0",
    "\ufeff",
    "\u200b\u202e",
    "{{ '\\ud800' }}",
    "\r\n\r",
    "\x1b[2J\x07",
    "{% raw %}{{ {% {# {% endraw %}",
    "{{ loop.index }}{{ self }}{{ caller() }}{{ varargs }}{{ kwargs }}",
    "{% include 'x' %}",
    "{% block a %}{{ self.a() }}{% endblock %}",
    "{{ messages|groupby('role')|tojson }}",
    "{{ range(99999)|list|tojson }}",
    "{{ [[]]|sum(start=[])|first }}",
    "{{ messages|sort|unique|reverse|list }}",
    "{% for m in messages %}{% for n in messages %}{{ messages|tojson }}{% endfor %}{% endfor %}",
)
"""Every one is harmless or stopped; none may escape."""


def slow_to_analyse() -> dict[str, str]:
    """Templates whose size or nesting is meant for what reads the source, not for what renders it."""
    chat = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    return {
        "megabyte-of-comparisons": "{% if 'a' in messages[0].content %}{% endif %}" * 20_000 + chat,
        "megabyte-of-names": "".join(f"{{% set a{n} = a{n - 1} ~ 'x' %}}" for n in range(1, 30_000)) + chat,
        "one-name-often": "{% set a = a ~ b %}{% set b = b ~ a %}" * 10_000 + "{{ messages[a] }}" + chat,
        "chain-of-private-names": "{{ messages" + "[0].__a" * 90 + " }}" + chat,
        "format-braces": "{{ '" + "{._" * 200_000 + "'.format(1) }}" + chat,
        "format-fields": "{{ '" + "{0._a}" * 60_000 + "'.format(1) }}" + chat,
        "marker-of-letters": "{% if '<" + "a " * 20_000 + "!' in messages[0].content %}x{% endif %}" + chat,
        "marker-of-brackets": "{% if '<think" + "[A" * 20_000 + "!' in messages[0].content %}x{% endif %}" + chat,
        "dates": "{{ '" + "today Jan " * 40_000 + "' }}" + chat,
        "lists-of-constants": "{% set a = [" + "'x', " * 60_000 + "] %}{{ messages[a|join] }}" + chat,
        "macros-that-call": "".join(
            f"{{% macro f{n}(x) %}}{{{{ f{n - 1}(x ~ x) }}}}{{% endmacro %}}" for n in range(1, 2_000)
        )
        + "{% if never %}{{ messages[f1999('a')] }}{% endif %}"
        + chat,
        "comment-bomb": "{# template-lint: ignore[TL101] x #}\n" * 20_000 + chat,
        "roles": "{{ '' ~ messages[0].role }}" * 20_000 + chat,
        "clocks": "{% set d = strftime_now('%Y') %}{% if d == 'x' %}{% endif %}" * 10_000 + chat,
        "invisible": "\u200b" * 300_000 + chat,
        "adds": "{{ messages[0].content" + " + 'a'" * 5_000 + " }}" + chat,
        "ands": "{% if " + " and ".join(["tools is iterable"] * 150) + " and tools|length %}x{% endif %}" + chat,
    }
