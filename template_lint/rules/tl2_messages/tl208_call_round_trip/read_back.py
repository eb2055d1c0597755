"""What a parser made of a finished turn, against the message that was sent: field by field, types included."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from template_lint.facts.call_grammars import Raw, same_value
from template_lint.facts.finished_turns import FinishedTurn
from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.rules.wording import plural, shorten

_SHOWN = 60


class Difference(NamedTuple):
    """One field that did not come back as it was sent.

    ``field`` is the key of the message (``name`` and ``arguments`` of a call are fields too), ``text`` the sentence,
    ``word`` what the template printed for it, ``lost`` the keys of the arguments.
    """

    field: str
    text: str
    sent: str
    read: str
    word: str
    lost: tuple[str, ...] = ()


def differences(turn: FinishedTurn, message: dict[str, Any], *, typed: bool, aliased: bool) -> list[Difference]:
    """All of them, the calls first. ``typed`` says that the parser knew the tools, ``aliased`` that each name of the
    reasoning serves. White space alone counts as nothing.
    """
    return [
        *_calls(turn, message, typed),
        *_reasoning(turn, message, aliased),
        *_content(turn, message),
        *_role(turn, message),
    ]


def _calls(turn: FinishedTurn, message: dict[str, Any], typed: bool) -> Iterator[Difference]:
    sent = turn.sent.calls
    read = message.get("tool_calls") or []
    word = sent[0][0] if sent else turn.sent.content
    shape = _misshapen(read)
    if shape is not None:
        text = f"the calls come back as {shape}, not as a list of {{'type': 'function', 'function': ...}}"
        yield Difference("tool_calls", text, plural(len(sent), "call"), json.dumps(read), word)
    elif len(read) != len(sent):
        were = "was" if len(sent) == 1 else "were"
        text = f"{plural(len(sent), 'call')} {were} sent, {len(read) or 'none'} came back"
        yield Difference("tool_calls", text, plural(len(sent), "call"), json.dumps(read, ensure_ascii=False), word)
    else:
        for (name, arguments), call in zip(sent, read, strict=True):
            yield from _call(turn, name, arguments, call["function"], typed)


def _misshapen(read: Any) -> str | None:
    if not isinstance(read, list):
        return f"one value, {shorten(json.dumps(read, ensure_ascii=False), _SHOWN)}"
    for call in read:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            return shorten(json.dumps(call, ensure_ascii=False), _SHOWN)
    return None


def _call(
    turn: FinishedTurn, name: str, arguments: dict[str, Any], function: dict[str, Any], typed: bool
) -> Iterator[Difference]:
    if function["name"] != name:
        text = f"the function {shorten(name)} comes back as {shorten(function['name'])}"
        yield Difference("name", text, name, function["name"], name)
    read = function.get("arguments")
    if isinstance(read, str):
        with contextlib.suppress(ValueError, RecursionError):
            read = json.loads(read)
    if not isinstance(read, dict):
        shown = json.dumps(read, ensure_ascii=False)
        text = f"the arguments come back as {shorten(shown, _SHOWN)}, not as a mapping"
        yield Difference("arguments", text, json.dumps(arguments, ensure_ascii=False), shown, name, tuple(arguments))
        return
    lost = [
        key
        for key, value in arguments.items()
        # What the template leaves out cannot come back: other rules tell of it.
        if (not _same(value, read[key], typed) if key in read else key in turn.texts[0])
    ]
    if lost:
        key = lost[0]
        shown = json.dumps(read[key], ensure_ascii=False) if key in read else ""
        sent = json.dumps(arguments[key], ensure_ascii=False)
        what = f"comes back as {shorten(shown, _SHOWN)}" if shown else "is missing"
        text = f"the argument {key!r}: {shorten(sent, _SHOWN)} {what}"
        yield Difference("arguments", text, sent, shown, key, tuple(lost))
    elif more := [key for key in read if key not in arguments]:
        text = f"an argument {shorten(more[0])} comes back that was not sent"
        yield Difference("arguments", text, "", json.dumps(read[more[0]], ensure_ascii=False), name, tuple(more))


def _same(sent: Any, read: Any, typed: bool) -> bool:
    if json.dumps(sent, sort_keys=True) == json.dumps(read, sort_keys=True):
        return True
    # Without the tools, a language that writes no types leaves a text.
    return not typed and isinstance(read, str) and same_value(sent, Raw(read))


def _reasoning(turn: FinishedTurn, message: dict[str, Any], aliased: bool) -> Iterator[Difference]:
    name, sent = turn.sent.reasoning
    found = [field for field in REASONING_FIELDS if _text(message.get(field)).strip()]
    read = _text(message[found[0]]) if found else ""
    if read != sent:
        yield _text_difference(found[0] if found else name, "reasoning", sent, read, turn)
    elif sent and not aliased and name not in found:
        text = f"the reasoning comes back as {found[0]!r}, and the template reads {name!r}"
        yield Difference("reasoning", text, name, found[0], sent)


def _content(turn: FinishedTurn, message: dict[str, Any]) -> Iterator[Difference]:
    sent, read = turn.sent.content, _text(message.get("content"))
    if read != sent and (sent or read.strip()):
        yield _text_difference("content", "content", sent, read, turn)


def _text_difference(field: str, noun: str, sent: str, read: str, turn: FinishedTurn) -> Difference:
    if not read.strip():
        text = f"the {noun} {shorten(sent)} is missing"
    elif sent:
        text = f"the {noun} {shorten(sent)} comes back as {shorten(read, _SHOWN)}"
    else:
        text = f"{shorten(read, _SHOWN)} comes back as {noun}, and none was sent"
    return Difference(field, text, sent, read, sent or turn.sent.words[0])


def _role(turn: FinishedTurn, message: dict[str, Any]) -> Iterator[Difference]:
    role = message.get("role", "assistant")
    if role != "assistant":
        shown = json.dumps(role, ensure_ascii=False)
        yield Difference("role", f"the role comes back as {shorten(shown)}", "assistant", shown, turn.sent.words[0])


def _text(value: Any) -> str:
    """A content as text: typed text parts are one text; anything else is shown as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value):
        return "".join(part["text"] for part in value)
    return json.dumps(value, ensure_ascii=False)
