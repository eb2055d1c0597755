"""How turns begin in token ids: which special tokens open a turn, and whose turn it is.

Read off renders of a small conversation, so it holds for any template whose turns begin with special tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from template_lint.tokenization import Tokenization

Render = Callable[[Sequence[Any], Sequence[Any] | None, bool], str | None]

_USER = {"role": "user", "content": "Quokka1 asks"}
_CALL = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "look", "arguments": {}}}],
}
_RESULT = {"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "Quokka2 found"}
_TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


class Headers(NamedTuple):
    """``openers``: ids of special tokens that can open a turn. ``assistant``: ids with which the model's turns begin.

    ``assistant[0]`` is an opener, and the rest tells it from other turns that begin alike.
    """

    openers: tuple[int, ...]
    assistant: tuple[int, ...]


def headers_of(render: Render, tokenization: Tokenization) -> Headers | None:
    """The headers of a template, None where it gives the model's turn, or a tool result, none of its own."""
    with_prompt = render([_USER], None, True)
    without = render([_USER], None, False)
    if with_prompt is None or without is None or not with_prompt.startswith(without):
        return None
    prompt = tokenization.encode(with_prompt[len(without) :])
    if not prompt or prompt[0] not in tokenization.special_ids:
        return None
    openers = {prompt[0]}
    others = [_before(tokenization, without, "Quokka1")]
    after_result = render([_USER, _CALL, _RESULT], _TOOLS, True)
    if after_result is not None and "Quokka2" in after_result:
        others.append(_before(tokenization, after_result, "Quokka2"))
        tail = tokenization.encode(after_result[after_result.rindex("Quokka2") :])
        if not any(tail[at : at + len(prompt)] == prompt for at in range(len(tail))):
            return None
    needed = 1
    for header in others:
        specials = [at for at, token_id in enumerate(header) if token_id in tokenization.special_ids]
        if not specials:
            return None
        start = _opening(header, specials, prompt[0])
        openers.add(header[start])
        if header[start] == prompt[0]:
            same = 0
            while same < min(len(prompt), len(header) - start) and header[start + same] == prompt[same]:
                same += 1
            if same == len(prompt):
                return None
            needed = max(needed, same + 1)
    return Headers(tuple(sorted(openers)), tuple(prompt[:needed]))


def _before(tokenization: Tokenization, text: str, content: str) -> list[int]:
    return tokenization.encode(text[: text.rindex(content)])


def _opening(header: list[int], specials: list[int], opener: int) -> int:
    """Where the last turn of ``header`` opens: at the model's own opener if that occurs, else at the last special."""
    for at in reversed(specials):
        if header[at] == opener:
            return at
    return specials[-1]
