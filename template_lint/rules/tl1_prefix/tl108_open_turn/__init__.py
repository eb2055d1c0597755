"""TL108: add_generation_prompt does not do what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length, common_suffix_length
from template_lint.facts.turn import plain_turn
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.defects import passing_text
from template_lint.rules.divergence import require_turns
from template_lint.rules.wording import shorten
from template_lint.scenarios.catalogue import load_catalogue

_ASK = {"role": "user", "content": "zqquestion"}
_REPLY = {"role": "assistant", "content": "zqreply"}
_BESIDE = "zqbeside"


def _ends(prompt: str, mark: str) -> bool:
    return prompt.rstrip().endswith(mark)


class _Defect(NamedTuple):
    """What is wrong after one kind of last message: ``header`` is not printed on request, or it is always there."""

    always: bool
    header: str
    last: str
    place: Place | None
    evidence: dict[str, Any]


class OpenTurn(Rule):
    """``add_generation_prompt`` leaves no open assistant turn, or one is open although it is off.

    What: a conversation that ends with a user message, and one that ends with a tool result, are rendered with and
    without the generation prompt and compared with the finished turn. So is a tool result whose call has text beside
    it: some templates close the turn after that text, and open none. Templates whose prompt ends right where the reply
    begins need no generation prompt: an info says so. So it does where the prompt after a tool result is another
    than after a user message, and where a generation prompt that has no effect is not how the finished turn begins.
    Templates of judges, which quote a conversation, are not asked.

    Why it matters: without the header the model first has to write it, and those tokens are scored; with a header that
    is always there, every finished conversation ends in the middle of a turn.

    How to fix: print the header of the assistant's turn if, and only if, ``add_generation_prompt`` is true.
    """

    code = "TL108"
    name = "open-turn"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Try both kinds of last message; the same defect after both is one finding."""
        require_turns(facts)
        asked = False
        fits = True
        probe = load_catalogue()[0]
        openings: list[tuple[str, list[Any]]] = [("a user message", [_ASK])]
        if facts.tool_rules_apply:
            openings.append(("a tool result", facts.shape.apply(probe.messages[:3])))
        defects: dict[tuple[bool, str], list[_Defect]] = {}
        prompts: list[str] = []
        for last, opening in openings:
            without = facts.render(opening).text
            with_prompt = facts.render(opening, generation_prompt=True).text
            finished = facts.render([*opening, _REPLY]).text
            if without is None or with_prompt is None or finished is None or _REPLY["content"] not in finished:
                continue
            asked = True
            fits = fits and finished.startswith(with_prompt)
            defect = _judge(facts, last, opening, (without, with_prompt, finished))
            if with_prompt.startswith(without):
                prompts.append(with_prompt[len(without) :])
            if defect is not None:
                defects.setdefault((defect.always, defect.header), []).append(defect)
        if not asked:
            raise Skip("no finished conversation renders")
        for group in defects.values():
            yield self._finding(facts, group)
        if prompts and not defects:
            yield from self._prompts(facts, prompts, fits)
        if facts.tool_rules_apply and not defects:
            yield from self._beside_text(facts, facts.shape.apply(probe.messages[:3]))

    def _beside_text(self, facts: TemplateFacts, plain: list[Any]) -> Iterator[Finding]:
        """A call with text beside it may close the turn that stays open after the same call without text."""
        ask, call, result = plain
        opening = [ask, {**call, "content": _BESIDE}, result]
        turn = plain_turn(facts)
        prompt = facts.render(opening, generation_prompt=True).text or ""
        finished = facts.render([*opening, _REPLY]).text or ""
        usual = facts.render(plain, generation_prompt=True).text or ""
        end = turn.last.marks[0] if turn is not None and turn.last.marks else ""
        if not end or not _ends(prompt, end) or _ends(usual, end) or _BESIDE not in prompt:
            return
        if finished.startswith(prompt) and finished[len(prompt) :].lstrip().startswith(_REPLY["content"]):
            yield self.finding(
                facts,
                f"after a tool result whose call has text beside it no turn is open: the prompt ends with"
                f" {shorten(end)}, and the reply follows without a header",
                remedy="Open a turn there when add_generation_prompt is true, or leave the turn of the call open.",
                place=facts.place_in(opening, prompt.rindex(end), generation_prompt=True),
                evidence={"with": prompt[-120:], "finished": finished[-160:]},
            )

    def _prompts(self, facts: TemplateFacts, prompts: list[str], fits: bool) -> Iterator[Finding]:
        """Prompts that are no defect and that a trainer has to know of. ``fits``: finished turns begin with them."""
        user, tool = prompts[0], prompts[-1]
        if user != tool:
            yield self.finding(
                facts,
                f"the generation prompt after a tool result is {shorten(tool, 40)},"
                f" after a user message it is {shorten(user, 40)}",
                remedy="Take the generation prompt from a render of the conversation at hand, never from another one.",
                severity=Severity.INFO,
                evidence={"after_user": user, "after_tool": tool},
            )
        elif not any(prompts):
            ends = (
                "every prompt ends where the reply begins" if fits else "and the prompt changes with the reply (TL103)"
            )
            yield self.finding(
                facts,
                f"add_generation_prompt has no effect{':' if fits else ','} {ends}",
                remedy=(
                    "Nothing to do: the turn is open as soon as the other's has ended."
                    if fits
                    else "Print what a finished turn begins with, and only when add_generation_prompt is true."
                ),
                severity=Severity.INFO,
                evidence={"after_user": user, "after_tool": tool},
            )

    def _finding(self, facts: TemplateFacts, group: list[_Defect]) -> Finding:
        first = group[0]
        last = " and after ".join(defect.last for defect in group)
        if first.always:
            message = f"{shorten(first.header)} is printed at the end although add_generation_prompt is off"
            remedy = "Print the header only when add_generation_prompt is true."
        else:
            message = (
                f"after {last} add_generation_prompt has no effect: no turn is open, the finished one begins with "
                f"{shorten(first.header)}"
            )
            remedy = "Print that header when add_generation_prompt is true."
        # A header that is always there is gone once a message follows.
        defects = passing_text(first.place) if first.always else []
        return self.finding(facts, message, remedy=remedy, place=first.place, evidence=first.evidence, defects=defects)


def _judge(facts: TemplateFacts, last: str, opening: list[Any], texts: tuple[str, str, str]) -> _Defect | None:
    without, with_prompt, finished = texts
    if with_prompt != without or not finished.startswith(without):
        return None  # it has an effect; or the turn is rendered in another way altogether, which TL103 tells
    header, start = finished[len(without) : finished.rindex(_REPLY["content"])], len(without)
    always = not header.strip()
    if always:
        opened = _always_open(facts, opening, without, finished)
        if opened is None:
            return None
        header, start = finished[opened:], opened
    place = facts.place_in([*opening, _REPLY], start)
    evidence = {"without": without[-120:], "with": with_prompt[-120:], "finished": finished[-160:]}
    return _Defect(always, header, last, place, evidence)


def _always_open(facts: TemplateFacts, opening: list[Any], without: str, finished: str) -> int | None:
    """Where the header begins that closes even a finished conversation, as an offset into ``finished``; or None."""
    reply_end = finished.rindex(_REPLY["content"]) + len(_REPLY["content"])
    shared = common_suffix_length(without, finished[reply_end:])
    following = facts.render([*opening, _REPLY, {"role": "user", "content": "zqnext"}]).text
    if not finished[len(finished) - shared :].strip() or following is None or following.startswith(finished):
        return None
    # What closes the turn stays when a message follows, the header does not. Two headers share their first characters.
    least = len(finished) - shared
    parted = max(common_prefix_length(finished, following), least)
    line = max(finished.rfind("\n", least, parted) + 1, least)
    tag = max(finished.rfind(mark, line, parted + 1) for mark in "<[")
    return tag if tag >= 0 else line
