"""What a page shows of a template: pairs of renders that part, and one conversation coloured by owner."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from template_lint.facts.display import display_of
from tests.facts.helper import CALLS, END, STABLE, TOOLS, facts

BROKEN = STABLE.replace("<|end|>{% endfor %}", "{% if loop.last %}<|end|>{% endif %}{% endfor %}")
MARKED = (
    TOOLS
    + "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    + CALLS
    + "<|end|>{% endgeneration %}{% else %}{{ m.content }}<|end|>{% endif %}{% endfor %}"
    + "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def strips(source: str) -> dict[str, dict[str, Any]]:
    return {strip["scenario"]: strip for strip in display_of(facts(source))["strips"]}


def owned(strip: dict[str, Any]) -> list[tuple[str, str]]:
    """(owner, text) with neighbours of one owner joined."""
    runs = groupby(strip["parts"], key=lambda part: part["owner"])
    return [(owner, "".join(part["text"] for part in parts)) for owner, parts in runs]


def test_a_sound_template_has_no_pairs() -> None:
    assert display_of(facts(STABLE))["pairs"] == []


def test_a_pair_shares_its_text_up_to_the_offset_and_no_further() -> None:
    pairs = display_of(facts(BROKEN))["pairs"]
    assert {pair["appended"] for pair in pairs} >= {"tool", "user"}
    for pair in pairs:
        at = pair["offset"]
        assert pair["earlier"][:at] == pair["later"][:at]
        assert pair["earlier"][at : at + 1] != pair["later"][at : at + 1]
        assert pair["cause"] == [1, BROKEN.index("loop.last") + 1]


def test_a_strip_says_who_wrote_what() -> None:
    strip = strips(STABLE)["call-with-content"]
    assert not strip["tokens"] and not strip["marked"] and not strip["cut"]
    owners = owned(strip)
    assert [owner for owner, _ in owners] == ["prompt", "model", "tool", "model"]
    assert owners[1][1].startswith("Let me look that up.[lookup_tide")
    assert owners[1][1].endswith("<|end|>")
    assert owners[2][1].startswith("<|tool|>tide 12:04")
    assert owners[2][1].endswith("<|assistant|>")
    assert owners[3][1] == "High water is at 12:04.<|end|>"


def test_where_the_prefix_breaks_the_call_is_still_the_models() -> None:
    moved = STABLE.replace("{{ m.content }}", "{% if loop.last %}<think></think>{% endif %}{{ m.content }}")
    owners = owned(strips(moved)["call-with-content"])
    assert [owner for owner, _ in owners] == ["prompt", "tool", "model"] or owners[1][0] == "model"
    assert any(owner == "tool" and text.startswith("<|tool|>") for owner, text in owners)


def test_the_mask_is_that_of_the_generation_tag() -> None:
    strip = strips(MARKED)["call-with-content"]
    assert strip["marked"]
    assert all((part["owner"] == "model") is bool(part["mask"]) for part in strip["parts"])


def test_tool_conversations_are_left_out_where_there_are_no_tools() -> None:
    assert set(strips("{% for m in messages %}{{ m.role }}{{ m.content }}" + END)) == {"chat"}
