"""A stable template of turns, and how to make it do more in the assistant's."""

from __future__ import annotations

TURNS = """\
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- '<|bot|>' }}{{ ASSISTANT }}{{- '<|end|>' }}
    {%- else %}
        {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}
"""
CALLS = "{{ message.content or '' }}{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}"
STABLE = TURNS.replace("{{ ASSISTANT }}", CALLS)


def with_assistant(source: str) -> str:
    """The template above with something more in the assistant's turn."""
    return TURNS.replace("{{ ASSISTANT }}", source + CALLS)
