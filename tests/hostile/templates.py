"""Templates written to hurt: each is the whole source of one file. None of them may stop, crash or slow a run."""

from __future__ import annotations


def _nest(opening: str, closing: str, depth: int, core: str = "x") -> str:
    return opening * depth + core + closing * depth


_CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"

STOPPED = {
    # Processor time in Python code.
    "nested-range": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "range-with-work": "{% for i in range(99999) %}{% for j in range(9999) %}"
    "{{ (i * j)|string|trim }}{% endfor %}{% endfor %}",
    "exponential-macro": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(70) }}",
    "exponential-loop": "{% for a in [[[[[[1] * 99] * 99] * 99] * 99] * 99] * 99 recursive %}"
    "{{ loop(a) if a is iterable }}{% endfor %}",
    "slow-filter-chain": "{% for i in range(99999) %}{{ range(99999)|list|reverse|list|sort|length }}{% endfor %}",
    "slow-generator": "{% for i in range(99999) %}"
    "{{ range(99999)|map('string')|select('in', 'abc')|list }}{% endfor %}",
    # Processor time that never returns to Python.
    "power": "{{ 9 ** (9 ** 9) }}",
    "power-of-message": "{% set n = messages|length + 8 %}{{ n ** (n ** n) }}",
    "power-in-branch-test": _CHAT + "{% if 7 ** (7 ** 9) > messages|length %}x{% endif %}",
    "factorial": "{% set n = namespace(v=3) %}{% for i in range(99) %}{% set n.v = n.v ** 3 %}{% endfor %}",
    # Memory.
    "string-bomb": "{% set x = 'a' * 999999999 %}{{ x * 999999999 }}",
    "string-times": "{{ 'a' * 9999999999 }}",
    "format-width": "{{ '%999999999d'|format(1) }}",
    "format-method": "{{ '{:>9999999999}'.format('x') }}",
    "center": "{{ 'a'|center(9999999999) }}",
    "ljust": "{{ 'a'.ljust(9999999999) }}",
    "zfill": "{{ '1'.zfill(9999999999) }}",
    "expandtabs": "{{ ('\\t' * 99999).expandtabs(99999) }}",
    "indent": "{{ 'a\n' * 9999 | length }}{{ ('a\n' * 9999)|indent(99999) }}",
    "list-times": "{{ ([0] * 9999999999)|length }}",
    "list-of-lists": "{% set n = namespace(l=[1]) %}{% for i in range(64) %}{% set n.l = n.l + n.l %}{% endfor %}",
    "doubling": "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    "doubling-set-block": "{% set a %}{{ 'x' * 9999 }}{% endset %}"
    + "".join(f"{{% set a %}}{{{{ a }}}}{{{{ a }}}}{{{{ '{n}' }}}}{{% endset %}}" for n in range(40)),
    "replace": "{% set x = 'a' * 99999 %}{{ x|replace('a', x) }}",
    "replace-empty": "{% set x = 'a' * 99999 %}{{ x.replace('', x) }}",
    "join": "{{ ('a' * 99999).join(['b'] * 99999) }}",
    "join-filter": "{{ (['b'] * 99999)|join('a' * 99999) }}",
    "sort": "{{ (range(99999)|list * 9999)|sort }}",
    "tojson-indent": "{{ messages|tojson(indent=999999999) }}",
    "batch-fill": "{{ [1]|batch(999999999, 'x')|list }}",
    "slice-fill": "{{ [1]|slice(99999999, 'x')|list|length * 999999999 * 'a' }}",
    "wordwrap": "{{ ('a ' * 99999)|wordwrap(1, wrapstring='x' * 99999) }}",
    "dict-of-ranges": "{% set n = namespace(d={}) %}{% for i in range(99999) %}"
    "{% set n.d = dict(n.d, **{i|string: range(99999)|list}) %}{% endfor %}",
    "lipsum": "{{ lipsum(n=99999, max=99999) }}",
    "translate": "{{ ('a' * 99999).translate({97: 'b' * 99999}) }}",
    "int-to-string": "{{ (7 ** 9999999)|string }}",
    # Output.
    "output": "{{ 'a' * 9999999 }}",
    "output-in-pieces": "{% for i in range(99999) %}{{ 'a' * 999 }}{% endfor %}",
    "output-per-message": "{% for m in messages %}{{ 'a' * 4999999 }}{% endfor %}",
    "output-of-emoji": "{{ '🎉' * 9999999 }}",
}
"""Must be stopped: TL508 (or, where the compiler folds the constant, a syntax error's TL002)."""

BROKEN = {
    "unbalanced-if": "{% if messages %}x",
    "unbalanced-for": "{% for m in messages %}" * 50,
    "unbalanced-end": "{% endif %}" * 50,
    "open-print": "{{ messages",
    "many-braces": "{{" * 450_000,
    "many-open-tags": "{%" * 450_000,
    "many-comments": "{#" * 450_000,
    "open-string": "{{ '" + "a" * 900_000,
    "open-brackets": "{{ " + "[" * 300_000,
    "deep-parentheses": "{{ " + _nest("(", ")", 20_000, "1") + " }}",
    "deep-brackets": "{{ " + _nest("[", "]", 20_000, "") + " }}",
    "deep-ifs": _nest("{% if messages %}", "{% endif %}", 3_000),
    "deep-fors": _nest("{% for m in messages %}", "{% endfor %}", 100),
    "deep-elifs": "{% if a %}x" + "{% elif a %}x" * 5_000 + "{% endif %}",
    "deep-not": "{{ " + "not " * 20_000 + "1 }}",
    "deep-minus": "{{ " + "-" * 20_000 + "1 }}",
    "deep-attributes": "{{ messages" + ".a" * 20_000 + " }}",
    "deep-filters": "{{ 'a'" + "|upper" * 20_000 + " }}",
    "deep-concat": "{{ 'a'" + " ~ 'a'" * 100_000 + " }}",
    "deep-sum": "{{ 1" + " + 1" * 100_000 + " }}",
    "deep-inline-if": "{{ " + "1 if a else " * 5_000 + "1 }}",
    "recursive-macro": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "mutual-macros": "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}",
    "recursive-call": "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}",
    "recursive-loop": "{% for m in [messages] recursive %}{{ loop([messages]) }}{% endfor %}",
    "namespace-cycle": "{% set n = namespace() %}{% set n.n = n %}{{ n }}{{ n|tojson }}",
    "unknown-tags": "{% include 'x' %}{% import 'y' as z %}{% do x %}",
    "extends-itself": "{% extends 'self' %}{% block a %}{{ super() }}{% endblock %}",
    "block-recursion": "{% block a %}{{ self.a() }}{% endblock %}",
    "nul": "\0{{ '\0' }}{% if '\0' %}\0{% endif %}{{ raise_exception('\0') }}",
    "class-walk": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals-walk": "{{ cycler.__init__.__globals__.os.system('true') }}",
    "format-walk": "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "format-map-walk": "{{ '{a.__class__}'.format_map({'a': messages}) }}",
    "attr-walk": "{{ messages|attr('__class__')|attr('__base__') }}{{ ''['__class__']['__mro__'] }}",
    "self-walk": "{{ self._TemplateReference__context.environment }}{{ self.__init__ }}",
    "caller-code": "{% macro f() %}{% endmacro %}{{ f._func.__code__ }}{{ f.__call__.__globals__ }}",
    "mutation": "{{ messages.append(messages) }}{{ messages }}",
    "mutation-of-message": "{{ messages[0].update({'role': messages}) }}",
    "map-attribute-walk": "{{ messages|map(attribute='__class__')|list }}{{ raise_exception('x') }}",
    "bad-strftime": "{{ strftime_now('%' * 99999) }}{{ strftime_now(1) }}",
    "raise-huge": "{{ raise_exception('x' * 9999999) }}",
    "raise-object": "{{ raise_exception(messages) }}",
    "wrong-types": "{{ messages + 1 }}{{ messages / 0 }}",
}
"""Must give a true finding, whichever it is: none of them is a template that works."""

ODD = {
    "empty": "",
    "newlines": "\n" * 900_000,
    "huge-text": "x" * 900_000,
    "huge-set": "{% set x %}" + "y" * 900_000 + "{% endset %}" + _CHAT,
    "huge-comment": "{# " + "c" * 900_000 + " #}" + _CHAT,
    "many-sets": "".join(f"{{% set a{n} = {n} %}}" for n in range(5_000)) + _CHAT,
    "many-prints": "{{ messages|length }}" * 5_000,
    "many-ifs": "{% if messages %}x{% endif %}" * 3_000,
    "many-macros": "".join(f"{{% macro m{n}() %}}{{% endmacro %}}" for n in range(1_000)) + _CHAT,
    "many-spaces": "{{" + " " * 900_000 + "messages[0].role }}",
    "many-minus-tags": (" " * 500 + "{%- if messages -%}" + " " * 500 + "{%- endif -%}") * 500,
    "long-name": "{{ " + "a" * 900_000 + " }}",
    "long-number": "{{ " + "9" * 4_000 + " }}",
    "long-raw": "{% raw %}" + "{{ {% " * 100_000 + "{% endraw %}",
    "long-string": "{{ '" + "\\n" * 300_000 + "' }}",
    "trailing-spaces": "x" + " " * 300_000 + "{%- if messages %}{% endif %}",
    "newline-whitespace": ("\n" + " " * 50) * 8_000 + "{{ messages|length }}",
    "generator": "{{ messages|map(attribute='role') }}{{ range(9) }}{{ messages|groupby('role') }}",
    "prints-objects": "{{ messages.append }}{{ range }}{{ namespace }}{{ dict }}{{ cycler }}{{ self }}{{ loop }}",
    "control-characters": "\x1b[2J\x07\u202e\ufeff{{ messages[0].content }}\u2028\x85",
    "surrogate-text": "{{ '\\ud800' }}" + _CHAT,
    "many-branches": "{% for m in messages %}"
    + "{% if m.role == 'x' %}1{% endif %}" * 400
    + "{{ m.content }}{% endfor %}",
    "looks-everywhere": "{% for m in messages %}{% for n in messages %}{% for o in messages %}"
    "{% if messages[-1].role == o.role and loop.last %}{{ n.content }}{% endif %}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "prints-prompt-quadratically": "{% for m in messages %}{{ messages[:loop.index]|tojson }}{% endfor %}",
    "addresses": "{{ messages|map('upper') }}",
    "just-below-the-output-bound": "{% if messages %}{{ 'a' * 8000000 }}{% endif %}",
    "emoji-below-the-output-bound": _CHAT + "{{ '🎉' * 8000000 }}",
    "growing-below-the-output-bound": "{% for m in messages %}{{ m.role }}{{ '🎉' * 200000 }}{% endfor %}",
    "long-lookahead": "{% for m in messages %}{{ m.content }}"
    "{{ 'é' * 100000 if loop.last else 'è' * 100000 }}{% endfor %}"
    "{{ tools }}",
    "thousand-pieces": "{% for m in messages %}{% for i in range(3000) %}{{ i if messages[-1].role == 'tool' else '' }}"
    "{% endfor %}{{ m.content }}{% endfor %}{{ tools }}",
}
"""Strange, but nothing forbids them: the run must bear them, whatever it finds."""

GOOD = {"good-1": _CHAT, "good-2": _CHAT.replace("</s>", "<end>"), "good-3": "{{ bos_token }}" + _CHAT}
"""Neighbours that must not notice."""
