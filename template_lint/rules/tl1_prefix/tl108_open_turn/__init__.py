"""TL108: add_generation_prompt does not do what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_suffix_length
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten
from template_lint.scenarios.catalogue import load_catalogue

_ASK = {"role": "user", "content": "zqquestion"}
_REPLY = {"role": "assistant", "content": "zqreply"}


class OpenTurn(Rule):
    """``add_generation_prompt`` leaves no open assistant turn, or one is open although it is off.

    What: a conversation that ends with a user message, and one that ends with a tool result, are rendered with and
    without
    the generation prompt and compared with the finished turn. Templates whose prompt ends right where the reply begins
    need no generation prompt and are fine.

    Why it matters: without the header the model first has to write it, and those tokens are scored; with a header
    that is
    always there, every finished conversation ends in the middle of a turn.

    How to fix: print the header of the assistant's turn if, and only if, ``add_generation_prompt`` is true.
    """

    code = "TL108"
    name = "open-turn"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try both kinds of last message."""
        asked = False
        probe = load_catalogue()[0]
        openings: list[tuple[str, list[Any]]] = [("a user message", [_ASK])]
        if facts.tool_rules_apply:
            openings.append(("a tool result", facts.shape.apply(probe.messages[:3])))
        for last, opening in openings:
            without = facts.render(opening).text
            with_prompt = facts.render(opening, generation_prompt=True).text
            finished = facts.render([*opening, _REPLY]).text
            if without is None or with_prompt is None or finished is None or _REPLY["content"] not in finished:
                continue
            asked = True
            yield from self._judge(facts, last, opening, (without, with_prompt, finished))
        if not asked:
            raise Skip("no finished conversation renders")

    def _judge(
        self, facts: TemplateFacts, last: str, opening: list[Any], texts: tuple[str, str, str]
    ) -> Iterator[Finding]:
        without, with_prompt, finished = texts
        if with_prompt != without or not finished.startswith(without):
            return  # it has an effect; or the turn is rendered in another way altogether, which TL103 tells
        reply = finished.rindex(_REPLY["content"])
        header = finished[len(without) : reply]
        evidence = {"without": without[-120:], "with": with_prompt[-120:], "finished": finished[-160:]}
        if header.strip():
            yield self.finding(
                facts,
                f"after {last} add_generation_prompt has no effect: no turn is open, the finished one begins with "
                f"{shorten(header)}",
                remedy="Print that header when add_generation_prompt is true.",
                place=facts.place_in([*opening, _REPLY], len(without)),
                evidence=evidence,
            )
        elif (tail := _always_open(facts, opening, without, finished)) is not None:
            yield self.finding(
                facts,
                f"{shorten(tail)} is printed at the end although add_generation_prompt is off",
                remedy="Print the header only when add_generation_prompt is true.",
                place=facts.place_in([*opening, _REPLY], len(finished) - len(tail)),
                evidence=evidence,
            )


def _always_open(facts: TemplateFacts, opening: list[Any], without: str, finished: str) -> str | None:
    """The header that closes even a finished conversation, or None."""
    tail = finished[finished.rindex(_REPLY["content"]) + len(_REPLY["content"]) :]
    shared = common_suffix_length(without, tail)
    following = facts.render([*opening, _REPLY, {"role": "user", "content": "zqnext"}]).text
    if not shared or not tail[-shared:].strip() or following is None or following.startswith(finished):
        return None
    return tail[-shared:]
