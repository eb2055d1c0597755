"""The delta: the token ids that appended messages add to a running buffer, computed on a dummy conversation.

Nothing that the model sampled is rendered or re-encoded: a short made-up conversation is rendered with and without the
new messages, and the difference is taken in ids, after the token that ends the assistant's turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from template_lint.errors import TemplateLintError
from template_lint.facts.delta import PLACEHOLDER_ID, PLACEHOLDER_NAME
from template_lint.facts.prefix import Appended
from template_lint.facts.shapes import SHAPES
from template_lint.rendering.api import RenderError
from template_lint.tito.engines import Engine, Messages, Tools, as_engine

_ASK = {"role": "user", "content": "dummy"}
_REPLY = {"role": "assistant", "content": "dummy"}
_SENTINEL = "zqsentinel"
_OTHER_NAME = "another"
_OTHER_ID = "anotherId"

PREFIX_RULES = {Appended.TOOL: "TL101", Appended.USER: "TL104", Appended.SYSTEM: "TL105"}
_DROPPED_RULES = {Appended.TOOL: "TL202", Appended.USER: "TL204", Appended.SYSTEM: "TL204"}


class DeltaError(TemplateLintError):
    """The delta is not defined for this template. ``rule`` is the code of the rule that explains it (TL101 ...).

    ``evidence`` has, where a prefix does not hold, the index and the tokens at which the renders part.
    """

    kind = "delta"

    def __init__(self, rule: str, what: str, remedy: str, evidence: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{rule}: {what}. {remedy}")
        self.rule = rule
        self.what = what
        self.remedy = remedy
        self.evidence = dict(evidence or {})


class Delta(NamedTuple):
    """What to append to a buffer, with mask 0, after a sampled turn.

    ``ids`` are the token ids and ``text`` their text. ``glue`` are the ids of white space between the stop token and
    the first header (Qwen's newline). ``stop_id`` ends an assistant's turn in this template, None where nothing does.
    ``stop_owner`` is ``model`` where the sampled turn ends with the stop token, ``template`` where ``ids`` carries it
    (or there is none).
    """

    ids: list[int]
    text: str
    glue: list[int]
    stop_id: int | None
    stop_owner: str
    appended: Appended
    stop_text: str = ""

    def after(self, sampled: Sequence[int]) -> Delta:
        """The delta behind a turn that the model may not have ended itself: truncated, or stopped by another token.

        Where ``sampled`` does not end with ``stop_id``, the delta carries it, with mask 0 like the rest.
        """
        if self.stop_id is None or self.stop_owner == "template" or (sampled and sampled[-1] == self.stop_id):
            return self
        return self._replace(ids=[self.stop_id, *self.ids], text=self.stop_text + self.text, stop_owner="template")


def delta(
    tokenizer: Any,
    messages: Messages,
    *,
    tools: Tools = None,
    appended: int | None = None,
    sampled: Sequence[int] | None = None,
    **template_kwargs: Any,
) -> Delta:
    """The ids that the last messages of a conversation add to the buffer.

    ``tokenizer`` is a tokenizer of transformers or an Engine. ``messages`` is the conversation, or only the new
    messages; ``appended`` is how many at its end are new (default: all after the last assistant message). The messages
    before them are used only to find the names of tools by ``tool_call_id``. ``sampled`` are the ids of the turn before
    the new messages: where they do not end with the stop token (truncated, or stopped by another token), the delta
    carries it; without ``sampled`` the model is taken to have emitted it. ``template_kwargs`` go to the template.

    Raises DeltaError where the template's delta is not defined, and ValueError where there is no new message.
    """
    engine = as_engine(tokenizer)
    start = _first_new(messages) if appended is None else len(messages) - appended
    new = list(messages[start:])
    if not new or start < 0:
        raise ValueError("no new message: the conversation ends with the assistant")
    kind = _kind(new)
    identities = _identities(new, messages[:start])
    found = _difference(engine, new, kind, identities, tools, template_kwargs)
    if None in (value for identity in identities for value in identity):
        # Nobody said which call a result answers: that only matters where the template prints it.
        others = [(name or _OTHER_NAME, call_id or _OTHER_ID) for name, call_id in identities]
        if _difference(engine, new, kind, others, tools, template_kwargs).ids != found.ids:
            raise DeltaError(
                "TL107",
                "the template prints the tool's name or the call's id, and a tool message has none",
                "Give every tool message its name and tool_call_id, or pass the conversation with the calls",
            )
    return found if sampled is None else found.after(sampled)


def turn_end(engine: Engine, ids: Sequence[int]) -> int | None:
    """Index just past the token that ends the turn with which ``ids`` end, or None where no token does.

    It is a stop token or special token that nothing but white space follows.
    """
    end = len(ids)
    while end > 0 and ids[end - 1] not in engine.special_ids and not engine.decode([ids[end - 1]]).strip():
        end -= 1
    if end and (ids[end - 1] in engine.stop_ids or ids[end - 1] in engine.special_ids):
        return end
    return None


def first_difference(a: Sequence[int], b: Sequence[int]) -> int:
    """The first index at which two sequences differ; the length of the shorter where none does."""
    shorter = min(len(a), len(b))
    return next((index for index in range(shorter) if a[index] != b[index]), shorter)


def _first_new(messages: Messages) -> int:
    start = len(messages)
    while start and messages[start - 1].get("role") != "assistant":
        start -= 1
    return start


def _kind(new: Messages) -> Appended:
    roles = {message.get("role") for message in new}
    if roles & {"system", "developer"}:
        return Appended.SYSTEM
    if roles == {"tool"}:
        return Appended.TOOL
    if roles <= {"tool", "user"}:
        return Appended.USER
    raise ValueError(f"a delta is made of tool, user and system messages, not of {sorted(map(str, roles))}")


Identity = tuple[str | None, str | None]


def _identities(new: Messages, history: Messages) -> list[Identity]:
    """Tool name and call id of every tool message, from the message itself or from the call it answers."""
    calls: dict[Any, Any] = {}
    for message in history:
        for call in message.get("tool_calls") or ():
            calls[call.get("id")] = (call.get("function") or call).get("name")
    return [
        (message.get("name") or calls.get(message.get("tool_call_id")), message.get("tool_call_id"))
        for message in new
        if message.get("role") == "tool"
    ]


def _difference(
    engine: Engine,
    new: Messages,
    kind: Appended,
    identities: Sequence[Identity],
    tools: Tools,
    kwargs: Mapping[str, Any],
) -> Delta:
    """The delta after a turn that the model ended itself."""
    base = _render(engine, [_ASK], kind, tools, kwargs)
    opening, prior, call_shown = _opening(engine, base, kind, identities, tools, kwargs)
    later = _render(engine, [*opening, *new], kind, tools, kwargs, prompt=True)
    difference = between(engine, prior, later, kind)
    if not _shown(engine, opening, new, later[len(prior) :], kind, tools, kwargs):
        if kind is Appended.TOOL and not call_shown:
            raise DeltaError("TL200", "the template renders neither tool calls nor results", "Use one that knows tools")
        what = f"the template drops the {kind.value} message"
        raise DeltaError(_DROPPED_RULES[kind], what, "Use a template that renders it")
    if prior == base:
        raise DeltaError("TL201", "the template drops the assistant's turn", "Use a template that renders it")
    return difference


def between(engine: Engine, prior: str, later: str, kind: Appended) -> Delta:
    """The delta between two renders: ``prior`` ends with the assistant's turn, ``later`` has the new messages too.

    Raises DeltaError (TL101, TL104 or TL105, TL102) where the first is not a prefix of the second, in text or in ids.
    """
    prior_ids, later_ids = engine.ids(prior), engine.ids(later)
    if not later.startswith(prior):
        what = f"appending a {kind.value} message rewrites what was rendered before"
        remedy = "Use a template that renders history the same whatever follows"
        raise _parted(engine, PREFIX_RULES[kind], what, remedy, prior_ids, later_ids)
    cut, text_cut = _cut(engine, prior_ids, later_ids, prior)
    if later_ids[:cut] != [*prior_ids, *later_ids[len(prior_ids) :]][:cut]:
        what = f"the text before the {kind.value} message stays, its token ids do not"
        raise _parted(engine, "TL102", what, "End the assistant's turn with a special token", prior_ids, later_ids)
    ids = later_ids[cut:]
    if text_cut is None:
        return Delta(ids, later[len(prior) :], _glue(engine, ids), None, "template", kind)
    stop_id = later_ids[cut - 1]
    return Delta(ids, later[text_cut:], _glue(engine, ids), stop_id, "model", kind, engine.decode([stop_id]))


def _opening(
    engine: Engine,
    base: str,
    kind: Appended,
    identities: Sequence[Identity],
    tools: Tools,
    kwargs: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], str, bool]:
    """The dummy conversation up to the assistant's turn, its render, and whether that shows the turn's calls.

    Shapes are tried in order until the calls show.
    """
    if not identities:
        opening = [_ASK, _REPLY]
        return opening, _render(engine, opening, kind, tools, kwargs), True
    calls: list[dict[str, Any]] = [
        {
            "id": call_id or PLACEHOLDER_ID,
            "type": "function",
            "function": {"name": name or PLACEHOLDER_NAME, "arguments": {}},
        }
        for name, call_id in identities
    ]
    name: str = calls[0]["function"]["name"]
    rendered: list[tuple[list[dict[str, Any]], str]] = []
    failures: list[DeltaError] = []
    for shape in SHAPES:
        opening = [_ASK, *shape.apply([{"role": "assistant", "content": "", "tool_calls": calls}])]
        try:
            rendered.append((opening, _render(engine, opening, kind, tools, kwargs)))
        except DeltaError as error:
            failures.append(error)
            continue
        if rendered[-1][1].count(name) > base.count(name):
            return *rendered[-1], True
    if not rendered:
        raise failures[0]
    return *rendered[0], False


def _render(
    engine: Engine,
    messages: Messages,
    kind: Appended,
    tools: Tools,
    kwargs: Mapping[str, Any],
    *,
    prompt: bool = False,
) -> str:
    try:
        return engine.render(messages, tools=tools, add_generation_prompt=prompt, kwargs=kwargs)
    except RenderError as error:
        if error.refused:
            what = f"the template refuses a {kind.value} message after the assistant's turn ({error})"
            raise DeltaError("TL211", what, "Use a template that accepts it") from error
        what = f"the template fails on a {kind.value} message after the assistant's turn ({error})"
        raise DeltaError("TL205", what, "Use a template that renders it") from error


def _shown(
    engine: Engine,
    opening: Messages,
    new: Messages,
    added: str,
    kind: Appended,
    tools: Tools,
    kwargs: Mapping[str, Any],
) -> bool:
    """Whether the text of every new message is in the delta, as it is or escaped in whatever way."""
    contents = [message.get("content") for message in new]
    texts = [content.strip() for content in contents if isinstance(content, str)]
    if all(text in added or json.dumps(text, ensure_ascii=False)[1:-1] in added for text in texts):
        return True
    marked = [
        {**message, "content": f"{_SENTINEL}{index}"} if isinstance(message.get("content"), str) else message
        for index, message in enumerate(new)
    ]
    text = _render(engine, [*opening, *marked], kind, tools, kwargs, prompt=True)
    return all(message["content"] in text for message in marked if str(message.get("content")).startswith(_SENTINEL))


def _cut(engine: Engine, prior_ids: Sequence[int], later_ids: Sequence[int], prior: str) -> tuple[int, int | None]:
    """How many ids and how many characters of the longer render belong to what came before the delta.

    The second is None where no token ends the assistant's turn: then the delta is all that was added.
    """
    end = turn_end(engine, prior_ids)
    following = later_ids[len(prior_ids)] if len(later_ids) > len(prior_ids) else None
    declared = end is not None and prior_ids[end - 1] in engine.stop_ids
    # A role token that opens the next message and stops generation (GLM): the model emits it, the template repeats it.
    stops = engine.stop_ids if end is not None else (*engine.stop_ids, *engine.special_ids)
    if not declared and following is not None and following in stops:
        return len(prior_ids) + 1, len(prior) + len(engine.decode([following]))
    if end is None:
        return len(prior_ids), None
    return end, len(prior) - len(engine.decode(prior_ids[end:]))


def _glue(engine: Engine, ids: Sequence[int]) -> list[int]:
    glue = []
    for token_id in ids:
        if token_id in engine.special_ids or engine.decode([token_id]).strip():
            break
        glue.append(token_id)
    return glue


def _parted(
    engine: Engine, rule: str, what: str, remedy: str, earlier: Sequence[int], later: Sequence[int]
) -> DeltaError:
    at = first_difference(earlier, later)
    tokens = {name: token_at(engine, ids, at) for name, ids in (("earlier", earlier), ("later", later))}
    words = f"at token {at}, {tokens['earlier']['text']!r} becomes {tokens['later']['text']!r}"
    return DeltaError(rule, f"{what}: {words}", remedy, {"position": at, **tokens})


def token_at(engine: Engine, ids: Sequence[int], at: int) -> dict[str, Any]:
    """A token as data: id and text; past the end the id is None."""
    if at >= len(ids):
        return {"id": None, "text": "(end)"}
    return {"id": ids[at], "text": engine.decode([ids[at]])}
