"""A rendered call, read back in the language that the model writes calls in: what of it is lost, and by what."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from template_lint.facts import TemplateFacts
from template_lint.facts.call_grammars import Grammar, read_call, same_value
from template_lint.facts.probes import ARGUMENT, CALL_NAME, RESULT
from template_lint.facts.variants import HARD_ARGUMENTS, Conversation, Variant, tool_conversation, with_arguments
from template_lint.rules.wording import shorten

_PASTED = "Print the arguments with tojson, whole, instead of pasting values between quotes."
_PASTED_STRING = "Print each string with tojson, instead of pasting it between quotes or without any."
_UNTYPED = "Print a string as it is, what is not a string with tojson, and nothing that closes the parameter."
_SEPARATION = "Print between two arguments what the language separates them with."


class BrokenCall(NamedTuple):
    """A call that does not come back: what is said of it, the arguments lost, and where in which prompt to look.

    ``value`` is the first argument's, where that is a text.
    """

    text: str
    remedy: str
    lost: list[str]
    conversation: Conversation
    offset: int
    value: str | None = None


class _Lost(NamedTuple):
    """One argument that did not come back: what was read (None: nothing), why, and its offset in the prompt."""

    key: str
    read: Any
    problem: str
    offset: int


def broken_call(facts: TemplateFacts, grammar: Grammar, number: int, hard: Variant) -> BrokenCall | None:
    """What is lost of the call with every kind of argument (of the plain one where that does not render), or None."""
    arguments = HARD_ARGUMENTS if hard.outcome.ok else {"zqkey": ARGUMENT}
    conversation = hard.conversation if hard.outcome.ok else tool_conversation(facts)
    lost = _lost(facts, grammar, number, conversation, arguments)
    if not lost:
        return None
    if lost[0].read is None and hard.outcome.ok:
        # Nothing could be read: one argument at a time says which of them is to blame.
        alone = [
            (found, single)
            for key, value in arguments.items()
            for single in [with_arguments(facts, {key: value}, RESULT)]
            for found in _lost(facts, grammar, number, single, {key: value})
        ]
        if not alone:
            return _not_separated(facts, grammar, number)
        lost, conversation = [found for found, _ in alone], alone[0][1]
    first = lost[0]
    value = arguments.get(first.key)
    sent = json.dumps(value, ensure_ascii=False)
    what = (
        f"cannot be read: {first.problem}" if first.read is None else f"comes back as {shorten(repr(first.read), 40)}"
    )
    text = f"the argument {shorten(sent, 40)} {what}"
    keys = [entry.key for entry in lost]
    shown = value if isinstance(value, str) else None
    return BrokenCall(text, _remedy(grammar), keys, conversation, first.offset, shown)


def _not_separated(facts: TemplateFacts, grammar: Grammar, number: int) -> BrokenCall | None:
    """Two arguments of which each alone comes back, and both together do not."""
    first, *others = HARD_ARGUMENTS
    for second in others:
        arguments = {key: HARD_ARGUMENTS[key] for key in (first, second)}
        conversation = with_arguments(facts, arguments, RESULT)
        lost = _lost(facts, grammar, number, conversation, arguments)
        if lost:
            text = conversation.render(facts).text or ""
            at = text.find(second, text.rfind(CALL_NAME))
            problem = f"two arguments cannot be read, each alone can: {lost[0].problem}"
            keys = [entry.key for entry in reversed(lost)]
            return BrokenCall(problem, _SEPARATION, keys, conversation, max(at, 0))
    return None


def _remedy(grammar: Grammar) -> str:
    if grammar.typed:
        return _PASTED_STRING if grammar.name == "Python call" else _PASTED
    return _UNTYPED


def _lost(
    facts: TemplateFacts, grammar: Grammar, number: int, conversation: Conversation, arguments: dict[str, Any]
) -> list[_Lost]:
    """The arguments that did not come back."""
    text = conversation.render(facts).text
    if text is None:
        return []
    call = read_call(grammar, text, CALL_NAME, number)
    if call is None:
        return [_Lost(key, None, "the call is not closed", text.rfind(CALL_NAME)) for key in arguments]
    if call.arguments is None:
        return [
            _Lost(key, None, call.problem, _value_offset(text, key, sent, call.offset))
            for key, sent in reversed(arguments.items())
        ]
    found: list[_Lost] = []
    for key, sent in arguments.items():
        if key not in call.arguments:
            found.append(_Lost(key, None, "it is missing", call.offset))
        elif not same_value(sent, call.arguments[key]):
            read = call.arguments[key]
            found.append(
                _Lost(key, read if read is not None else "null", "", _value_offset(text, key, sent, call.offset))
            )
    return found


def _value_offset(text: str, key: str, value: Any, start: int) -> int:
    """Where the value of an argument stands; where only its key is found, just after that."""
    at = text.find(key, start)
    if at < 0:
        return start
    after = at + len(key)
    found = text.find(value[:2], after) if isinstance(value, str) else -1
    return found if found >= 0 else after
