"""One small template for each verdict, and for each capability."""

from __future__ import annotations

from typing import Any

import pytest

from template_lint.facts.fingerprint import prompt_fingerprint
from template_lint.facts.verdict import verdict_of
from template_lint.scenarios.model import Scenario
from tests.facts.helper import END, STABLE, TOOLS, TURN, facts

LAST = "{% if loop.last and m.role == 'assistant' %}</s>{% endif %}"
LAST_USER = (
    "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}"
    "{% endif %}{% endfor %}"
)
THINK = (
    "{% if m.reasoning_content and (keep_thinking or loop.index0 > ns.last) %}"
    "<think>{{ m.reasoning_content }}{% endif %}"
)


@pytest.mark.parametrize(
    ("source", "verdict", "kwargs"),
    [
        (STABLE, "stable", {}),
        (TOOLS + TURN + LAST + END, "unstable", {}),
        (LAST_USER + TOOLS + TURN + THINK + END, "stable-with-kwargs", {"keep_thinking": True}),
        (LAST_USER + TOOLS + TURN + THINK.replace("keep_thinking or ", "") + END, "breaks-on-user", {}),
        (
            TOOLS + TURN.replace("{{ m.content }}", "{{ m.content }}{{ '.' if loop.first and loop.revindex0 > 2 }}"
            ) + END, "unstable", {},
        ),
        ("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "no-tools", {}),
        ("{{ tools }}{{ raise_exception('never') }}", "unrenderable", {}),
        (
            "{% for m in messages %}{% if m.role == 'tool' or m.tool_calls %}{{ raise_exception('no') }}{% endif %}"
            "<{{ m.role }}>{{ m.content }}{% endfor %}", "unrenderable", {},
        ),
    ],
)  # fmt: skip
def test_verdicts(source: str, verdict: str, kwargs: dict[str, Any]) -> None:
    found = verdict_of(facts(source))
    assert (found.tito, found.kwargs, found.patch) == (verdict, kwargs, None)


def test_a_late_system_message_that_moves_is_history_too() -> None:
    source = (
        TOOLS
        + "{% for m in messages if m.role == 'system' %}{{ m.content }}{% endfor %}"
        + TURN.replace("in messages %}", "in messages if m.role != 'system' %}")
    )
    assert verdict_of(facts(source + END)).tito == "breaks-on-user"


CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"


def test_the_fingerprint_is_of_the_prompts() -> None:
    one = prompt_fingerprint(facts(STABLE))
    assert len(one) == 64
    assert prompt_fingerprint(facts(STABLE)) == one
    assert prompt_fingerprint(facts("{# a comment #}" + STABLE.replace("{% if tools %}", "{%- if tools -%}"))) == one
    assert prompt_fingerprint(facts(STABLE.replace("<|end|>", "<|eot|>"))) != one
    assert prompt_fingerprint(facts(STABLE + "{{ eos_token }}")) != one
    assert prompt_fingerprint(facts(STABLE, variables={})) == one  # the template reads none of them


def test_the_fingerprint_sees_special_tokens_refusals_and_switches() -> None:
    source = STABLE + "{{ eos_token }}"
    assert prompt_fingerprint(facts(source)) != prompt_fingerprint(facts(source, variables={"eos_token": "<eos>"}))
    refusing = STABLE.replace("{{ m.content }}", "{{ raise_exception('a') if m.role == 'system' }}{{ m.content }}")
    other_words = refusing.replace("'a'", "'b'")
    assert prompt_fingerprint(facts(refusing)) != prompt_fingerprint(facts(STABLE))
    assert prompt_fingerprint(facts(refusing)) == prompt_fingerprint(facts(other_words))  # the class, not the words
    switched = STABLE + "{% if enable_thinking is false and add_generation_prompt %}<t>{% endif %}"
    assert prompt_fingerprint(facts(switched)) != prompt_fingerprint(facts(STABLE))


def test_the_fingerprint_is_the_same_on_every_day_and_for_every_users_conversations() -> None:
    source = STABLE + "{{ strftime_now('%Y-%m-%d') }}"
    own = Scenario("mine", "", [{"role": "user", "content": "x"}], None, {}, [1], own=True)
    assert prompt_fingerprint(facts(source)) == prompt_fingerprint(facts(source, conversations=[own]))


def test_a_conversation_of_the_user_may_have_the_name_of_one_of_ours() -> None:
    messages = [{"role": "user", "content": "mine"}, {"role": "assistant", "content": "reply"}]
    own = Scenario("one-call", "", messages, None, {}, [1, 2], own=True)
    twin = Scenario("one-call", "", [{"role": "user", "content": "twin"}], None, {"x": 1}, [1], own=True)
    found = facts(STABLE, conversations=[own, twin])
    texts = [
        found.render_scenario(scenario, 1, True).text for scenario in found.scenarios if scenario.name == "one-call"
    ]
    assert [("mine" in (text or ""), "twin" in (text or "")) for text in texts] == [
        (False, False),
        (True, False),
        (False, True),
    ]
