"""Conversations played as token-in-token-out loops, on small models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import Appended
from template_lint.rendering.profiles import resolve_profile
from template_lint.scenarios.model import Scenario, natural_cuts
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from template_lint.tito.engines import Engine, MirrorEngine
from template_lint.tito.evidence import first_clash
from template_lint.tito.policy import HashPolicy
from template_lint.tito.simulate import Playwright, Script, play
from template_lint.tokenization import load_tokenization
from tests.tito import toy_models as toy

ASK = {"role": "user", "content": "When is high tide?"}
ANSWER = {"role": "assistant", "content": "At 12:04."}


@pytest.fixture
def engine(tmp_path: Path) -> Callable[[str], Engine]:
    def make(template: str) -> Engine:
        snapshot = load_snapshot(parse_target(str(toy.folder(tmp_path, template))))
        return MirrorEngine(
            TemplateFacts(
                template,
                resolve_profile("5.24"),
                variables={"bos_token": "<s>", "eos_token": "<|end|>"},
                tokenization=lambda: load_tokenization(snapshot),
            )
        )

    return make


def conversation(*messages: dict[str, Any], tools: bool = True) -> Scenario:
    listed = list(messages)
    return Scenario("mine", "", listed, [toy.TOOL] if tools else None, {}, natural_cuts(listed))


def rounds(count: int) -> Scenario:
    messages = [ASK]
    for number in range(count):
        call_id = f"call0000{number}"
        messages += [
            {"role": "assistant", "content": f"Look {number}.", "tool_calls": [toy.call(call_id=call_id)]},
            toy.result(f"12:0{number}", call_id=call_id),
        ]
    return conversation(*messages, ANSWER)


def kinds(script: Script) -> list[str]:
    return [step.appended.value for step in script.steps]


def test_three_rounds(engine: Callable[[str], Engine]) -> None:
    live = engine(toy.SOUND)
    script = Playwright(live).write(rounds(3))
    assert script.problem is None
    assert kinds(script) == ["other", *["assistant", "tool"] * 3, "assistant"]
    buffer = play(script)
    assert live.decode(buffer.ids) + "\n" == script.steps[-1].text
    assert [turn.kind for turn in buffer.turns] == ["prompt", *["completion", "tool"] * 3, "completion"]
    sampled = [live.decode(buffer.ids[turn.start : turn.end]) for turn in buffer.turns if turn.kind == "completion"]
    assert sampled[0] == 'Look 0.<call>{"name": "get_tide", "arguments": {}}</call><|end|>'
    assert sampled[-1] == "At 12:04.<|end|>"
    assert first_clash(live, script, buffer) is None


def test_each_step_is_masked_by_who_speaks(engine: Callable[[str], Engine]) -> None:
    script = Playwright(engine(toy.SOUND)).write(rounds(2))
    buffer = play(script)
    for turn, step in zip(buffer.turns, script.steps, strict=True):
        assert set(buffer.mask[turn.start : turn.end]) == {int(step.appended is Appended.ASSISTANT)}


def test_another_sampler(engine: Callable[[str], Engine]) -> None:
    live = engine(toy.SOUND)
    script = Playwright(live).write(rounds(1))
    spelled = play(script, lambda number, step: [*live.decode(step.ids[:-1]).encode(), step.ids[-1]])
    assert len(spelled) > len(play(script))
    assert live.decode(spelled.ids) == live.decode(play(script).ids)


def test_log_probabilities_follow_the_buffer(engine: Callable[[str], Engine]) -> None:
    policy = HashPolicy(0, 300)
    buffer = play(Playwright(engine(toy.SOUND)).write(rounds(2)), policy=policy)
    expected = policy.log_probabilities(buffer.ids[:-1], buffer.ids[1:])
    assert [value for value, mask in zip(buffer.logprobs, buffer.mask, strict=True) if mask] == [
        value for value, mask in zip(expected, buffer.mask[1:], strict=True) if mask
    ]


def test_a_script_ends_where_the_delta_does(engine: Callable[[str], Engine]) -> None:
    script = Playwright(engine(toy.THINKS_LAST)).write(rounds(2))
    assert kinds(script) == ["other", "assistant"]
    assert script.problem is not None
    assert (script.problem.appended, script.problem.rule) == (Appended.TOOL, "TL101")
    assert script.problem.evidence["position"] > 0


def test_a_delta_that_depends_on_the_round_is_seen(engine: Callable[[str], Engine]) -> None:
    live = engine(toy.FIRST_RESULT_ONLY)
    script = Playwright(live).write(rounds(2))
    clash = first_clash(live, script, play(script))
    assert clash is not None
    assert clash.step == 4
    assert clash.evidence["messages"] == 5
    assert (clash.evidence["buffer"]["text"], clash.evidence["render"]["text"]) == ("R", "1")


def test_role_tokens_end_the_turn(engine: Callable[[str], Engine]) -> None:
    live = engine(toy.ROLE_TOKENS)
    script = Playwright(live).write(rounds(2))
    assert [live.decode([step.ids[-1]]) for step in script.turns] == ["<|tool|>", "<|tool|>", "."]
    assert first_clash(live, script, play(script)) is None
    assert live.decode(play(script).ids) == script.steps[-1].text


@pytest.mark.parametrize("thought", ["", "Tides need the moon."])
def test_a_prompt_that_opens_a_thinking_block_gets_a_reply_that_thinks(
    engine: Callable[[str], Engine], thought: str
) -> None:
    template = toy.chatml(
        "{% if m.reasoning_content %}{{ '<think>' ~ m.reasoning_content ~ '</think>' }}{% endif %}{{ m.content }}",
        prompt="{% if add_generation_prompt %}{{ '<|start|>assistant\n<think>' }}{% endif %}",
    )
    live = engine(template)
    reply = {**ANSWER, "reasoning_content": thought} if thought else ANSWER
    script = Playwright(live).write(conversation(ASK, reply))
    assert script.problem is None
    assert live.decode(script.turns[0].ids).endswith("</think>At 12:04.<|end|>")


def test_a_reply_that_rewrites_history(engine: Callable[[str], Engine]) -> None:
    template = toy.SOUND.replace(
        "{{ m.content or '' }}", "{{ m.content if loop.last or m.role != 'user' or messages[-1].role != 'assistant' }}"
    )
    script = Playwright(engine(template)).write(conversation(ASK, ANSWER))
    assert script.turns[0].rewrites
    assert first_clash(engine(template), script, play(script)) is not None


@pytest.mark.parametrize(
    ("template", "messages", "rule"),
    [
        (toy.REFUSES_TOOLS, [ASK, {**ANSWER, "tool_calls": [toy.call()]}, toy.result()], "TL211"),
        (toy.SOUND, [ASK, ANSWER, ANSWER], ""),
        ("{% for m in messages if m.role == 'user' %}{{ m.content }}<|end|>{% endfor %}", [ASK, ANSWER], "TL201"),
        ("{{ messages[0].nothing.at_all }}", [ASK, ANSWER], "TL205"),
    ],
)
def test_what_cannot_be_played(
    engine: Callable[[str], Engine], template: str, messages: list[dict[str, Any]], rule: str
) -> None:
    script = Playwright(engine(template)).write(conversation(*messages))
    assert script.problem is not None
    assert script.problem.rule == rule


def test_a_conversation_may_end_with_a_question(engine: Callable[[str], Engine]) -> None:
    script = Playwright(engine(toy.SOUND)).write(conversation(ASK, ANSWER, ASK))
    assert kinds(script) == ["other", "assistant", "user"]
    assert kinds(Playwright(engine(toy.SOUND)).write(conversation(ASK))) == ["other"]
