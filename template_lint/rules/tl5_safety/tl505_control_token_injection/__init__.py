"""TL505: control tokens in text that comes from outside become control ids."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip
from template_lint.rules.tl5_safety.tl505_control_token_injection.fields import Field, fields
from template_lint.rules.wording import listed, shorten

# Private characters that transformers puts around control tokens in text (chat_template_utils.py of 5.24.0).
_START, _END = "\U000f0000", "\U000f0001"
_BEFORE = "zqtext"


class ControlTokenInjection(Rule):
    """Control tokens in text that comes from outside become control ids.

    What: a special token of the tokenizer is written into each field of a conversation: user and system text, tool
    results, arguments, the tools' schemas. The finding lists the fields from which it comes out as the control id, and
    those where ``sanitize_control_tokens=True`` of ``apply_chat_template`` (from 5.20) does not stop it: it does not
    look at names of parameters and arguments, and a template that takes texts apart can lose its marks.

    Why it matters: a web page in a tool result, or the schema of a foreign tool server, ends the turn and opens one of
    the system. Practically every template lets this through; what differs is the fields.

    How to fix: pass ``sanitize_control_tokens=True``; before 5.20, remove control tokens from all text that comes from
    outside. Refuse tools whose names contain them.
    """

    code = "TL505"
    name = "control-token-injection"
    severity = Severity.WARNING
    needs = ("template", "syntax", "tokenizer")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Fill each field in turn; one finding that lists them."""
        control, token_id = _control_token(facts)
        found = [field for field in fields(facts) if _injects(facts, field, control, token_id)]
        if not found:
            return
        titles = listed([field.title for field in found], 4)
        through = [field for field in found if not _stopped(facts, field, control)]
        yield self.finding(
            facts,
            f"{shorten(control)} becomes a control id from {titles}{_about_sanitizing(facts, through)}",
            remedy=_remedy(facts, through),
            evidence={
                "token": control,
                "fields": [field.title for field in found],
                "not_sanitized": [field.title for field in through] if facts.profile.sanitizes else None,
            },
        )


def _control_token(facts: TemplateFacts) -> tuple[str, int]:
    """The special token to try: one that ends generation and that the template prints, else any that it prints."""
    tokenizer = facts.tokenizer
    reply = {"role": "assistant", "content": "zqreply"}
    text = facts.render([ASK, reply, ASK], generation_prompt=True).text or facts.render([ASK]).text or ""
    printed = [token_id for token_id in dict.fromkeys(facts.ids(text)) if token_id in tokenizer.special_ids]
    for token_id in [*(token_id for token_id in tokenizer.eos_ids if token_id in printed), *reversed(printed)]:
        return tokenizer.token(token_id), token_id
    raise Skip("the template prints no special token of this tokenizer")


def _injects(facts: TemplateFacts, field: Field, control: str, token_id: int) -> bool:
    text = _render(facts, field, control)
    at = text.find(_BEFORE + control)
    if at < 0:
        return False
    ids, offsets = facts.tokenizer.encode_with_offsets(text)
    place = at + len(_BEFORE)
    # A token may take the space beside it along.
    return any(found == token_id and start <= place < end for found, (start, end) in zip(ids, offsets, strict=True))


def _stopped(facts: TemplateFacts, field: Field, control: str) -> bool:
    """Whether the marks of ``sanitize_control_tokens`` are still around the token in the prompt."""
    if not facts.profile.sanitizes or field.key:
        return False
    marked = f"{_START}{control}{_END}"
    unmarked = _render(facts, field, marked).replace(marked, "").count(control)
    return unmarked <= _render(facts, field, "").count(control)


def _render(facts: TemplateFacts, field: Field, control: str) -> str:
    messages, tools = field.fill(f"{_BEFORE}{control}zq")
    return facts.render(messages, tools=tools, generation_prompt=True).text or ""


def _titles(found: list[Field]) -> str:
    return ", ".join(field.title for field in found)


def _about_sanitizing(facts: TemplateFacts, through: list[Field]) -> str:
    if not facts.profile.sanitizes:
        return f"; transformers {facts.profile.label} has no sanitize_control_tokens"
    if not through:
        return "; sanitize_control_tokens stops it"
    return f"; sanitize_control_tokens does not stop it in {_titles(through)}"


def _remedy(facts: TemplateFacts, through: list[Field]) -> str:
    if not facts.profile.sanitizes:
        return "Remove control tokens from text that comes from outside, or use transformers 5.20 or newer."
    if through:
        return "Pass sanitize_control_tokens=True, and refuse tools and calls whose names contain control tokens."
    return "Pass sanitize_control_tokens=True to apply_chat_template."
