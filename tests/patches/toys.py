"""A toy family with one template per defect: an original, and a training template that every law accepts."""

from __future__ import annotations

from template_lint.facts import TemplateFacts
from template_lint.patches import Expectation, Proof, prove, sibling
from template_lint.patches.proof import Status
from template_lint.rendering.profiles import Profile, parse_profile

PROFILE = parse_profile("5.24")

HEAD = "{% if tools %}<|tools|>{{ tools | tojson }}<|end|>\n{% endif %}"
ARGUMENTS = "{{ a if a is string else a | tojson }}"
CALLS = (
    "{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}"
    '<call>{"name": "{{ c.function.name }}", "arguments": ' + ARGUMENTS + "}</call>{% endfor %}"
)
THOUGHT = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
CONTENT = "{{ m.content or '' }}"
REPLY = THOUGHT + CONTENT + CALLS + "<|end|>"
OPEN, CLOSE = "{% generation %}", "{% endgeneration %}"
LOOP = "{% for m in messages %}{% if m.role == 'assistant' %}"
OTHER = "{% else %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endif %}{% endfor %}"
PROMPT = "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"

ORIGINAL = HEAD + LOOP + "<|assistant|>\n" + REPLY + "{{ '\\n' }}" + OTHER + PROMPT
SOUND = HEAD + LOOP + "<|assistant|>\n" + OPEN + REPLY + CLOSE + "{{ '\\n' }}" + OTHER + PROMPT


def changed(source: str, old: str, new: str) -> str:
    """A template with one place changed; the place must be there."""
    assert old in source
    return source.replace(old, new, 1)


def both(old: str, new: str) -> tuple[str, str]:
    """The original and the training template with the same place changed: a defect that was left in."""
    return changed(ORIGINAL, old, new), changed(SOUND, old, new)


def facts(source: str, profile: Profile = PROFILE) -> TemplateFacts:
    return TemplateFacts(source, profile, variables={"bos_token": "<s>", "eos_token": "</s>"})


def proof(original: str, candidate: str, expect: Expectation | None = None, profile: Profile = PROFILE) -> Proof:
    whole = facts(original, profile)
    return prove(whole, sibling(whole, candidate), expect=expect or Expectation())


def failing(proven: Proof) -> set[str]:
    return {law for law, result in proven.results.items() if result.status is Status.FAILS}
