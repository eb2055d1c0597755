"""Whether marks that open something are closed, once, before they open it again. Read off renders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.marks import MARK, partners
from template_lint.facts.probes import CALL, TOOL, TOOL_RESULT
from template_lint.facts.shapes import SHAPES
from template_lint.facts.turn import ASK, REPLY, plain_turn

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

_PLAIN = frozenset({"chat"})
_WITH_TOOLS = frozenset({"parallel-calls", "two-rounds", "after-user-turn"})
# A thinking block is closed alone where it was opened in the prompt, or where there was no thinking.
_THINKING = r"think|thought|reason"


class Imbalance(NamedTuple):
    """The first wrong mark of a pair. ``kind``: ``unopened`` (a closer too many), ``reopened``, ``unclosed``.

    ``offset`` is that of the wrong mark in ``text``, the render of the finished conversation called ``name``.
    """

    opener: str
    closer: str
    kind: str
    name: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    text: str
    offset: int


class _Region(NamedTuple):
    name: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    text: str
    start: int
    end: int

    def marks(self) -> Iterator[tuple[str, int]]:
        for match in MARK.finditer(self.text, self.start, self.end):
            yield match[0], match.start()


def imbalances(facts: TemplateFacts) -> list[Imbalance]:
    """One per pair of marks, in the first conversation that shows it.

    Looked at is what stands between the words of the first user and those of the last reply: it may begin with the end
    of the user's turn and end with the beginning of the assistant's.
    """
    regions = [(region, list(region.marks())) for region in _regions(facts)]
    seen = {mark for _, marks in regions for mark, _ in marks}
    found: dict[tuple[str, str], Imbalance] = {}
    turn, eos_token = plain_turn(facts), facts.variables.get("eos_token")
    plain = "" if turn is None else turn.text
    for region, marks in regions:
        for opener in dict.fromkeys(mark for mark, _ in marks):
            if re.search(_THINKING, opener, re.IGNORECASE) or opener == "<s>":
                continue
            for closer in partners(opener):
                if closer in seen and (opener, closer) not in found:
                    wrong = _first_wrong(region.text, marks, opener, closer, eos_token) or _never_closed(
                        region, opener, closer, plain
                    )
                    if wrong is not None:
                        found[opener, closer] = Imbalance(opener, closer, wrong[0], *region[:4], wrong[1])
    return list(found.values())


def _first_wrong(
    text: str, marks: list[tuple[str, int]], opener: str, closer: str, eos_token: str | None
) -> tuple[str, int] | None:
    """Kind and offset of the first of ``marks`` out of turn, in ``text``, which may go on behind them.

    The end-of-text token may end a turn in place of its closer.
    """
    opened: int | None = None
    before = False
    for mark, at in marks:
        if mark == opener:
            if opened is not None:
                return ("reopened", at) if closer in text[at:] else ("unclosed", opened)
            opened = at
        elif mark == closer and opened is None and before:
            return "unopened", at
        elif mark == closer or (mark == eos_token and opened is not None):
            opened = None
        before = before or mark in (opener, closer)
    return None


def _never_closed(region: _Region, opener: str, closer: str, plain: str) -> tuple[str, int] | None:
    """As _first_wrong(), for what is still open at the end of the text. ``plain`` is a plain turn, whose own end is
    another question.
    """
    at = region.text.rfind(opener, region.start, region.end)
    if at < 0 or opener in plain or closer in region.text[at:]:
        return None
    return "unclosed", at


def _regions(facts: TemplateFacts) -> Iterator[_Region]:
    with_tools = facts.tool_rules_apply and facts.tool_probe.result
    asked = _PLAIN | _WITH_TOOLS if with_tools else _PLAIN
    for scenario in facts.scenarios:
        if scenario.name in asked and not scenario.own:
            text = facts.render_scenario(scenario, len(scenario.messages), False).text
            yield from _region(scenario.name, scenario.messages, scenario.tools, text)
    if with_tools:
        yield from _with_null_content(facts)


def _with_null_content(facts: TemplateFacts) -> Iterator[_Region]:
    """One call, and two at once, beside a null content, in the first shape of arguments that renders."""
    for shape in SHAPES[:2]:
        [call] = shape.apply([{**CALL, "content": None}])
        both = {**call, "tool_calls": call["tool_calls"] * 2}
        one, two = [ASK, call, TOOL_RESULT, REPLY], [ASK, both, TOOL_RESULT, TOOL_RESULT, REPLY]
        text = facts.render(one, tools=[TOOL]).text
        if text is not None:
            yield from _region("one call with null content", one, [TOOL], text)
            yield from _region("two calls with null content", two, [TOOL], facts.render(two, tools=[TOOL]).text)
            return


def _region(
    name: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, text: str | None
) -> Iterator[_Region]:
    first, last = messages[0]["content"], messages[-1]["content"]
    if text is not None and first in text and last in text:
        start, end = text.index(first) + len(first), text.rindex(last)
        if start < end:
            yield _Region(name, messages, tools, text, start, end)
