"""TL305: decoding does not give back what the template printed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.turn import ASK, REPLY, plain_turn
from template_lint.facts.written import written_place
from template_lint.model import Finding, Place, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import listed, shorten

_CLEANED = r" (?=[.?!,]|' |n't|'m|'s|'ve|'re)"
_CALL = "one-call"
_NO_CLEAN_UP = "Keep ids. Where text is needed, decode with clean_up_tokenization_spaces=False."


class LossyRoundTrip(Rule):
    """Decoding does not give back what the template printed.

    What: finished conversations are encoded and decoded. Where the profile is 4.57 and the tokenizer asks for it,
    spaces are cleaned up as decode() does. Special tokens inside the assistant's turn, which
    ``skip_special_tokens=True`` removes, are an info. What users write is not looked at.

    Why it matters: a loop or parser that goes through text sees other text than the model wrote: calls without their
    marks, other spaces, other ids when it encodes again.

    How to fix: decode with ``skip_special_tokens=False`` and ``clean_up_tokenization_spaces=False``; better, keep ids.
    """

    code = "TL305"
    name = "lossy-round-trip"
    severity = Severity.WARNING
    needs = ("template", "syntax", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """A plain reply, and a call with its result."""
        texts = _texts(facts)
        if not texts:
            raise Skip("no finished reply renders")
        yield from self._changed(facts, texts)
        yield from self._skipped(facts)

    def _changed(self, facts: TemplateFacts, texts: dict[str, str]) -> Iterator[Finding]:
        for name, text in texts.items():
            decoded = facts.tokenizer.decode(facts.ids(text))
            cleaned = _clean(decoded) if facts.tokenizer.habits.cleans_up else decoded
            if cleaned == text:
                continue
            at = common_prefix_length(cleaned, text)
            by = "clean_up_tokenization_spaces" if decoded == text else "decoding"
            remedy = _NO_CLEAN_UP if decoded == text else "Keep ids: no option of decode() gives this text back."
            yield self.finding(
                facts,
                f"{by} turns {shorten(text[max(0, at - 12) : at + 24])} into "
                f"{shorten(cleaned[max(0, at - 12) : at + 24])} ({name})",
                remedy=remedy,
                place=_place(facts, name, at),
                evidence={"offset": at, "text": text[at : at + 60], "decoded": cleaned[at : at + 60]},
            )
            return

    def _skipped(self, facts: TemplateFacts) -> Iterator[Finding]:
        """The special tokens that stand inside an assistant's turn, its own end left out."""
        found: dict[int, None] = {}
        for scenario in facts.scenarios:
            if scenario.name != _CALL or not facts.tool_rules_apply:
                continue
            prompt, turn = (facts.render_scenario(scenario, count, count == 1).text for count in (1, 2))
            if prompt is None or turn is None or not turn.startswith(prompt):
                continue
            ids = [token_id for token_id in facts.ids(turn[len(prompt) :]) if token_id not in facts.tokenizer.eos_ids]
            last = next((i for i in range(len(ids) - 1, -1, -1) if (facts.token_text(ids[i]) or "").strip()), 0)
            found.update(dict.fromkeys(i for i in ids[:last] if i in facts.tokenizer.special_ids))
        if found:
            marks = [facts.token_text(token_id) or "" for token_id in found]
            yield self.finding(
                facts,
                f"skip_special_tokens=True removes {listed(marks)} from a turn with a call",
                remedy="Decode replies with skip_special_tokens=False before parsing them.",
                place=written_place(facts, marks[0]),
                evidence={"marks": marks},
                severity=Severity.INFO,
            )


def _texts(facts: TemplateFacts) -> dict[str, str]:
    texts = {}
    turn = plain_turn(facts)
    if turn is not None:
        texts["a plain reply"] = turn.text
    scenario = next((s for s in facts.scenarios if s.name == _CALL), None)
    if scenario is not None and facts.tool_rules_apply:
        text = facts.render_scenario(scenario, len(scenario.messages), False).text
        if text is not None:
            texts["a call and its result"] = text
    return texts


def _place(facts: TemplateFacts, name: str, at: int) -> Place | None:
    if name == "a plain reply":
        return facts.place_in([ASK, REPLY], at)
    scenario = next(s for s in facts.scenarios if s.name == _CALL)
    return facts.printed_at(scenario, len(scenario.messages), False, at)


def _clean(text: str) -> str:
    """What clean_up_tokenization() of 4.57 does: spaces before punctuation and English contractions go."""
    return re.sub(_CLEANED, "", text.replace(" ' ", "'"))
