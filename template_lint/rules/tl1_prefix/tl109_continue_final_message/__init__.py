"""TL109: continuing a reply is not generation prompt plus reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.wording import around, shorten
from template_lint.scenarios.model import in_text_part

_ASK: dict[str, Any] = {"role": "user", "content": "When is high water?"}
_PARTIAL = "High water is"
_THINKS = r"think|thought|reason"


class ContinueFinalMessage(Rule):
    """``continue_final_message`` does not continue what the generation prompt began.

    What: with ``continue_final_message=True`` the render of a begun reply must be the generation prompt followed by
    the begun text; a space at its end that is trimmed is an info. So is a header that the generation prompt leaves to
    the model, as ``<|channel|>final<|message|>``; a thinking block that is opened, closed or both is a warning. Where
    the generation prompt is no prefix of a finished turn anyway, or opens none, TL103 or TL108 says so and this rule is
    skipped. A template that prints text parts only is asked with those.

    Why it matters: prefilling, and resuming a rollout that was cut off, then shows the model another context than the
    one it sampled from.

    How to fix: print the content of the last message as it is, without trimming, directly after the header.
    """

    code = "TL109"
    name = "continue-final-message"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Continue one begun reply."""
        ask, begun = _begun(facts, _PARTIAL)
        prompt = facts.render(ask, generation_prompt=True)
        finished = facts.render(begun)
        if prompt.text is None or finished.text is None:
            failed = prompt if prompt.text is None else finished
            raise Skip(f"a plain conversation does not render: {failed.error}: {failed.message[:120]}")
        if _PARTIAL not in finished.text:
            raise Skip("a reply is not in the prompt (TL204)")
        if not finished.text.startswith(prompt.text):
            raise Skip("the generation prompt is no prefix of the finished turn (TL103)")
        continued = facts.render(begun, continue_final=True)
        expected = prompt.text + _PARTIAL
        if continued.text is None:
            yield self.finding(
                facts,
                f"continue_final_message raises {continued.error}: {continued.message[:100]}",
                remedy="Print the content of the last assistant message, so that it can be found in the prompt.",
            )
        elif continued.text != expected:
            if _letters(continued.text) != _letters(expected) and prompt.text == facts.render(ask).text:
                raise Skip("add_generation_prompt opens no turn (TL108)")
            yield self._differing(facts, begun, continued.text, expected)
        else:
            yield from self._trailing_space(facts, prompt.text)

    def _differing(self, facts: TemplateFacts, begun: list[dict[str, Any]], continued: str, expected: str) -> Finding:
        offset = common_prefix_length(continued, expected)
        before = _put_before(continued, expected)
        earlier, at = around(expected, offset)
        later, _ = around(continued, offset)
        severity = None
        message = (
            f"continuing {_PARTIAL!r} gives {shorten(continued[offset:])} where prompt plus text is "
            f"{shorten(expected[offset:])}"
        )
        remedy = "Print the content of the last message as it is, directly after the header."
        if _letters(continued) == _letters(expected):
            # White space that belongs to the reply's first token is a matter of where the cut is.
            severity = Severity.INFO
            if before == "\n" and _ends_with_the_file(facts, expected.removesuffix(_PARTIAL)):
                message += ": Jinja drops the newline at the end of the file"
                remedy = "Print the newline at the end of the file: {{ '\\n' }}."
        elif before is not None:
            message = f"continuing {_PARTIAL!r} puts {shorten(before)} between the generation prompt and the text"
            remedy = "To go on with a reply that was cut off, append its text to the generation prompt yourself."
            # A header that the generation prompt leaves to the model stands before any text of that kind.
            severity = None if re.search(_THINKS, before, re.IGNORECASE) else Severity.INFO
        return self.finding(
            facts,
            message,
            remedy=remedy,
            place=facts.place_in(begun, offset),
            evidence={"earlier": earlier, "later": later, "excerpt_offset": at, "offset": offset},
            severity=severity,
        )

    def _trailing_space(self, facts: TemplateFacts, prompt: str) -> Iterator[Finding]:
        """A begun text that ends with a space: the model goes on with a word, not with another space."""
        _, begun = _begun(facts, _PARTIAL + " ")
        text = facts.render(begun, continue_final=True).text
        if text is not None and text == prompt + _PARTIAL:
            yield self.finding(
                facts,
                f"continuing {_PARTIAL + ' '!r} loses the space at the end: the render ends with"
                f" {shorten(text[-len(_PARTIAL) :])}",
                remedy="Print the content of the last message without trimming it, or never cut a reply after a space.",
                place=facts.place_in(begun, len(text) - 1),
                evidence={"continued": text[-40:]},
                severity=Severity.INFO,
            )


def _begun(facts: TemplateFacts, text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A question, and the question with a begun reply: as plain text, or as text parts where only those are printed."""
    plain = [_ASK, {"role": "assistant", "content": text}]
    for messages in (plain, [in_text_part(message) for message in plain]):
        if text.strip() in (facts.render(messages).text or ""):
            return messages[:1], messages
    return plain[:1], plain


def _ends_with_the_file(facts: TemplateFacts, prompt: str) -> bool:
    """Whether the last text of the file, before a newline that Jinja drops, is the end of the generation prompt."""
    last = facts.template.source_map.tokens[-1]
    return facts.source.endswith("\n") and last.kind == "data" and last.text != "" and prompt.endswith(last.text)


def _letters(text: str) -> str:
    return "".join(text.split())


def _put_before(continued: str, expected: str) -> str | None:
    """What stands between the generation prompt and the begun text; None where these two are not there whole."""
    prompt = expected.removesuffix(_PARTIAL)
    if not continued.startswith(prompt) or not continued.endswith(_PARTIAL):
        return None
    return continued[len(prompt) :].removesuffix(_PARTIAL)
