"""Reasoning inside the content: which templates look for it there, and what they are asked."""

from __future__ import annotations

import pytest

from template_lint.facts.inline_reasoning import Tags, fold, opens_thinking, reasoning_of
from template_lint.facts.prefix import Appended
from template_lint.facts.verdict import verdict_of
from tests.facts.helper import END, STABLE, TOOLS, TURN, facts

THINK = Tags("<think>", "</think>")
LAST = "{{ m.content.split('</think>')|last if m.role == 'assistant' and not loop.last else m.content }}"
CUTS_HISTORY = TOOLS + TURN.replace("{{ m.content }}", LAST) + END
OPENS = CUTS_HISTORY.replace("<|assistant|>{% endif %}", "<|assistant|><think>\n{% endif %}")


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("{{ m.content.split('</think>')[-1] }}", THINK),
        ("{{ m.content if '</think>' not in m.content }}", THINK),
        ("{{ m.content.partition('</thought>\n')[2] }}", Tags("<thought>", "</thought>")),
        ("{{ m.content.split('[/THINK]')|last }}", Tags("[THINK]", "[/THINK]")),
        ("{{ m.content }}{{ '</think>' }}", None),
        ("{{ m.content.split('</b>')|last }}", None),
        ("{{ m.reasoning_content or m.content.split('</think>')|last }}", None),
    ],
)
def test_the_tags_are_those_that_contents_are_searched_for(content: str, tags: Tags | None) -> None:
    assert facts(TURN.replace("{{ m.content }}", content) + END).inline_tags == tags


def test_a_reply_is_joined_as_the_model_writes_it_and_split_again() -> None:
    assert THINK.join("Why.", "So.", opened=False) == "<think>\nWhy.\n</think>\n\nSo."
    assert THINK.join("Why.", "So.", opened=True) == "Why.\n</think>\n\nSo."
    for opened in (False, True):
        assert THINK.split(THINK.join("Why.", "So.", opened=opened)) == ("Why.", "So.")
    assert THINK.split("So.") == ("", "So.")
    assert THINK.split(None) == ("", "")


def test_only_messages_with_reasoning_are_folded() -> None:
    reply = {"role": "assistant", "reasoning_content": "Why.", "content": "So."}
    assert fold(reply, THINK, opened=True) == {"role": "assistant", "content": "Why.\n</think>\n\nSo."}
    plain = {"role": "assistant", "content": "So."}
    assert fold(plain, THINK, opened=True) is plain


def test_reasoning_is_where_the_template_looks_for_it() -> None:
    inside = {"role": "assistant", "content": "Why.\n</think>\n\nSo."}
    field = {"role": "assistant", "reasoning_content": "Why.", "content": "So."}
    assert [reasoning_of(facts(CUTS_HISTORY), message) for message in (inside, field)] == ["Why.", ""]
    assert [reasoning_of(facts(STABLE), message) for message in (inside, field)] == ["", "Why."]


def test_a_prompt_opens_a_thinking_block_or_closes_it() -> None:
    closes = OPENS.replace("<think>\n", "{{ '<think>' if enable_thinking else '<think></think>' }}")
    assert opens_thinking(facts(CUTS_HISTORY), THINK, {}) is False
    assert opens_thinking(facts(OPENS), THINK, {}) is True
    assert opens_thinking(facts(closes), THINK, {}) is None
    assert opens_thinking(facts(closes), THINK, {"enable_thinking": True}) is True


def test_conversations_with_reasoning_are_asked_again_with_it_inside_the_content() -> None:
    found = [scenario for scenario in facts(OPENS).asked_scenarios if scenario.name.endswith("-in-content")]
    assert [scenario.name.removesuffix("-in-content") for scenario in found] == [
        "call-with-reasoning", "two-rounds-reasoning", "after-user-turn-reasoning", "chat-reasoning",
    ]  # fmt: skip
    replies = [message for scenario in found for message in scenario.messages if message["role"] == "assistant"]
    assert all("reasoning_content" not in reply for reply in replies)
    assert found[-1].messages[1]["content"] == "This needs no tool.\n</think>\n\nHigh water comes twice a day."
    assert facts(STABLE).asked_scenarios == facts(STABLE).scenarios


def test_a_mode_that_does_not_think_is_not_asked() -> None:
    closes = OPENS.replace("<think>\n", "{{ '<think>' if enable_thinking else '<think></think>' }}")
    names = [s.name for s in facts(closes).asked_scenarios if "-in-content" in s.name]
    assert names
    assert all(name.endswith("[enable_thinking=true]") for name in names)


def test_a_template_that_cuts_the_reasoning_of_earlier_turns_is_not_stable() -> None:
    assert verdict_of(facts(CUTS_HISTORY)).tito == "unstable"
    broken = {q.scenario.name for q in facts(CUTS_HISTORY).answered(Appended.TOOL) if not q.holds}
    assert broken == {
        "call-with-reasoning-in-content", "two-rounds-reasoning-in-content", "after-user-turn-reasoning-in-content",
    }  # fmt: skip
    kept = CUTS_HISTORY.replace("not loop.last", "not loop.last and not keep_thinking")
    assert verdict_of(facts(kept)).kwargs == {"keep_thinking": True}
    assert verdict_of(facts(STABLE)).tito == "stable"


def test_a_kwarg_that_makes_the_model_think_does_not_make_a_template_stable_that_cuts_its_reasoning() -> None:
    closes = OPENS.replace("<think>\n", "{{ '<think>' if enable_thinking else '<think></think>' }}")
    assert verdict_of(facts(closes)).tito == "unstable"
