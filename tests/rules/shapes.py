"""Templates that take every legal shape of a message, and the pieces to spoil."""

from __future__ import annotations

CONTENT = "{{ m.content if m.content is string else m.content | map(attribute='text') | join }}"
CALLS = (
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} "
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}]{% endfor %}"
)
SOUND = (
    "{{ tools | tojson if tools }}{% for m in messages %}<{{ m.role }}>"
    + CONTENT
    + CALLS
    + "</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
STRICT = SOUND.replace(CONTENT, "{{ raise_exception('a result is text') if m.content is mapping }}" + CONTENT)
ONLY_TEXT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
