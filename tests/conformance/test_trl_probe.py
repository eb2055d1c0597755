"""TRL's question to a template, and its variants, over the corpus: the counts are those of transformers itself.

``trl.chat_template_utils.is_chat_template_prefix_preserving`` renders a user message and a call of ``dummy``, then
the same with a tool result and the generation prompt. The counts were measured with apply_chat_template.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest

from template_lint.rendering.api import outcome_of
from template_lint.rendering.profiles import installed_profile, parse_profile
from template_lint.rendering.template import ChatTemplate
from tests.inputs import corpus_dir

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
ABSENT: Any = object()
INSTALLED = installed_profile().version
USER = {"role": "user", "content": "dummy"}
RESULT = {"role": "tool", "name": "dummy", "content": "dummy"}


def call(arguments: Any = {}, content: Any = "", number: int = 1) -> dict[str, Any]:  # noqa: B006
    """A call without an id, as TRL writes it."""
    function = {"name": "dummy", "arguments": arguments}
    calls = [{"type": "function", "function": function} for _ in range(number)]
    message = {"role": "assistant", "content": content, "tool_calls": calls}
    return {key: value for key, value in message.items() if value is not ABSENT}


@lru_cache(maxsize=4)
def templates(version: str) -> list[ChatTemplate]:
    files = sorted(corpus_dir().glob("*.jinja"))
    assert len(files) == 786
    profile = parse_profile(version)
    return [ChatTemplate(file.read_text(encoding="utf-8"), profile) for file in files]


def outcomes(
    earlier: list[Any], later: list[Any], version: str, *, prompt: bool, earlier_prompt: bool
) -> Iterator[str]:
    for template in templates(version):
        first = outcome_of(template, earlier, add_generation_prompt=earlier_prompt, variables=TOKENS).text
        second = outcome_of(template, later, add_generation_prompt=prompt, variables=TOKENS).text
        if first is None or second is None:
            yield "error"
        else:
            yield "holds" if second.startswith(first) else "breaks"


def counts(
    earlier: list[Any], later: list[Any], version: str = "5.24", *, prompt: bool = True, earlier_prompt: bool = False
) -> tuple[int, int, int]:
    found = list(outcomes(earlier, later, version, prompt=prompt, earlier_prompt=earlier_prompt))
    return found.count("holds"), found.count("breaks"), found.count("error")


def test_the_probe_of_trl() -> None:
    assert counts([USER, call()], [USER, call(), RESULT]) == (599, 81, 106)


@pytest.mark.parametrize(
    ("arguments", "content", "version", "expected"),
    [
        ({}, None, "5.24", (395, 54, 337)),
        ({}, ABSENT, "5.24", (395, 54, 337)),
        ({}, None, "4.57", (346, 46, 394)),
        ("{}", "", "5.24", (514, 68, 204)),
        ("{}", None, "5.24", (304, 42, 440)),
        ("{}", None, "4.57", (275, 35, 476)),
    ],
)
def test_its_other_shapes(arguments: Any, content: Any, version: str, expected: tuple[int, int, int]) -> None:
    if version == "4.57" and INSTALLED >= (5, 0):
        pytest.skip("run with transformers 4.57: compiling the corpus for a second version takes long")
    asked = call(arguments, content)
    assert counts([USER, asked], [USER, asked, RESULT], version) == expected


def test_two_calls_in_sequence() -> None:
    first = [USER, call(), RESULT, call()]
    assert counts(first, [*first, RESULT]) == (598, 81, 107)


def test_parallel_calls() -> None:
    both = call(number=2)
    assert counts([USER, both], [USER, both, RESULT, RESULT]) == (586, 80, 120)


def test_a_plain_reply_and_a_later_user_turn() -> None:
    reply = {"role": "assistant", "content": "dummy"}
    assert counts([USER, reply], [USER, reply, USER]) == (624, 147, 15)


def test_the_generation_prompt_and_the_reply() -> None:
    reply = {"role": "assistant", "content": "dummy"}
    assert counts([USER], [USER, reply], prompt=False, earlier_prompt=True) == (648, 123, 15)
