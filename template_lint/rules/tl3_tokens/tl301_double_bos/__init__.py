"""TL301: the prompt begins with BOS twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.marks import MARK
from template_lint.facts.probes import SYSTEM
from template_lint.facts.turn import ASK, NEXT, REPLY
from template_lint.facts.written import written_marks
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import shorten

_BEGINS = r"bos|begin.?of|start.?of.?(text|sentence|doc)"


class DoubleBos(Rule):
    """The prompt begins with BOS twice.

    What: a prompt with and without a system message must have BOS once before the user's words. A template that writes
    BOS before every turn, as Llama 2 does, is meant to be like that. With a tokenizer that adds BOS itself, a template
    that writes it too is a warning: ``apply_chat_template`` encodes right, ``tokenizer(rendered_text)`` does not.

    Why it matters: models were trained with one. A second one shifts every position and is known to cost quality.

    How to fix: write BOS once, before the first message. Where the tokenizer adds it: encode rendered text with
    ``add_special_tokens=False``.
    """

    code = "TL301"
    name = "double-bos"
    severity = Severity.ERROR

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Read the text; where it is right, ask the tokenizer."""
        asked = False
        for what, messages in (("without a system message", [ASK]), ("with a system message", [SYSTEM, ASK])):
            text = facts.render(messages, generation_prompt=True).text
            if text is None:
                continue
            asked = True
            second = _second(facts, text)
            if second is not None:
                bos, at = second
                if _is_guessed(facts):
                    raise Skip(
                        f"the template writes {bos} itself, and without a tokenizer nobody knows whether it is BOS"
                    )
                yield self.finding(
                    facts,
                    f"{what} the prompt has {bos} twice before the user's words: it begins with {shorten(text)}",
                    remedy="Write BOS once, before the first message.",
                    place=facts.place_in(messages, at, generation_prompt=True),
                    evidence={"bos": bos, "offset": at, "prompt": text[: at + 80]},
                )
                return
        if not asked:
            raise Skip("no prompt renders")
        if facts.tokenization is not None:
            yield from self._added(facts)

    def _added(self, facts: TemplateFacts) -> Iterator[Finding]:
        habits = facts.tokenizer.habits
        text = facts.render([ASK], generation_prompt=True).text
        if text is None or not habits.adds_bos or facts.ids(text)[:1] != [habits.bos_id]:
            return
        bos = facts.token_text(habits.bos_id)
        yield self.finding(
            facts,
            f"the template writes {bos}, and tokenizer(text) puts another before it: apply_chat_template is right, "
            "encoding the rendered text is not",
            remedy="Encode rendered text with add_special_tokens=False.",
            place=facts.place_in([ASK], len(text) - len(text.lstrip()), generation_prompt=True),
            evidence={"bos": bos, "bos_id": habits.bos_id},
            severity=Severity.WARNING,
        )


def _second(facts: TemplateFacts, text: str) -> tuple[str, int] | None:
    """BOS and where the second one stands, or None."""
    start = len(text) - len(text.lstrip())
    named: Any = facts.variables.get("bos_token")
    if isinstance(named, str) and named and text.startswith(named, start):
        bos = named
    else:
        match = MARK.match(text, start)
        if match is None or not re.search(_BEGINS, match[0], re.IGNORECASE):
            return None
        bos = match[0]
    at = text.find(bos, start + len(bos))
    words = text.find(ASK["content"])
    if at < 0 or (0 <= words < at):
        return None
    between = text[start + len(bos) : at]
    if between.strip() and _per_turn(facts, bos):
        return None
    return bos, at


def _is_guessed(facts: TemplateFacts) -> bool:
    """Whether BOS is a placeholder, as there is no tokenizer, and the template has a mark like it of its own."""
    from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS

    bos = facts.variables.get("bos_token")
    alone = facts.tokenization is None and (facts.snapshot is None or not facts.snapshot.config)
    return alone and bos == PLACEHOLDER_TOKENS["bos_token"] and bos in written_marks(facts)


def _per_turn(facts: TemplateFacts, bos: str) -> bool:
    """Whether a later turn begins with BOS too, or cannot be seen."""
    text = facts.render([ASK, REPLY, NEXT], generation_prompt=True).text
    return text is None or bos in text.partition(ASK["content"])[2]
