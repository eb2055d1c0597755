"""One conversation in every legal shape: what OpenAI-compatible servers and transformers users send, shape by shape.

Shapes that mean the same must give one prompt, or a clear refusal. The rules about crashes, about words that vanish,
about Python literals and about differing prompts all look at these renders; each is made once.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from template_lint.facts.probes import ARGUMENT, ASK, CALL, CALL_ID, CALL_NAME, SYSTEM, TOOL, TOOL_RESULT
from template_lint.facts.shapes import Shape
from template_lint.rendering.messages import REASONING_FIELDS
from template_lint.scenarios.model import in_text_part

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts
    from template_lint.rendering.template import Outcome

REPLY: dict[str, Any] = {"role": "assistant", "content": "zqreply"}
THOUGHT = "zqthought"
BESIDE = "zqbeside"

HARD_TEXT = 'zq "quoted" it\'s <b> & é 港\nzq \\ end'
HARD_ARGUMENTS: dict[str, Any] = {
    "zqkey": "zqargument",
    "zqtext": HARD_TEXT,
    "zqcount": 3,
    "zqratio": 1.5,
    "zqyes": True,
    "zqno": False,
    "zqnull": None,
    "zqlist": ["zqitem", 2],
    "zqmap": {"zqinner": "zqdeep"},
}
JSON_RESULT = '{"zqsky": "zqrain"}'


class Kind(enum.Enum):
    """What about the shape is varied."""

    ARGUMENTS = "arguments"
    EMPTY = "empty content"
    NO_CALLS = "no calls"
    RESULT = "result"
    PARTS = "parts"
    REASONING = "reasoning"
    HARD = "hard arguments"
    NO_TOOLS = "no tools"
    SCHEMA = "schema"


class Conversation(NamedTuple):
    """Messages, and whether ``tools=`` is given; always rendered with the generation prompt.

    ``tool`` is what it holds, None for an empty list.
    """

    messages: list[dict[str, Any]]
    tools: bool = True
    tool: dict[str, Any] | None = TOOL

    @property
    def tool_list(self) -> list[dict[str, Any]] | None:
        """What ``tools=`` is."""
        if not self.tools:
            return None
        return [] if self.tool is None else [self.tool]

    def render(self, facts: TemplateFacts) -> Outcome:
        """Rendered as it stands; memoised."""
        return facts.render(self.messages, tools=self.tool_list, generation_prompt=True)


class Variant(NamedTuple):
    """One legal shape of a conversation.

    ``usual`` is the same conversation in the usual shape and ``reference`` its outcome, None where there is nothing
    that must be equal. ``serious`` shapes are those that servers send all the time. ``words`` are texts of the
    conversation that the varied message carries.
    """

    kind: Kind
    title: str
    conversation: Conversation
    outcome: Outcome
    reference: Outcome | None
    serious: bool = False
    words: tuple[str, ...] = ()
    usual: Conversation | None = None

    @property
    def comparable(self) -> bool:
        """Whether there are two prompts to compare."""
        return self.outcome.text is not None and self.reference is not None and self.reference.text is not None


def compared(
    facts: TemplateFacts,
    kind: Kind,
    title: str,
    conversation: Conversation,
    usual: Conversation,
    *,
    serious: bool = False,
    words: tuple[str, ...] = (),
) -> Variant:
    """A shape of a conversation beside the usual one, both rendered."""
    outcome, reference = conversation.render(facts), usual.render(facts)
    return Variant(kind, title, conversation, outcome, reference, serious, words, usual)


@lru_cache(maxsize=1)
def variants(facts: TemplateFacts) -> list[Variant]:
    """Every shape with its render; those about tools only where the tool rules are asked."""
    found = []
    if facts.tool_rules_apply:
        found += [*_call_shapes(facts), *_reasoning_keys(facts)]
    found += _parts(facts)
    return found


@lru_cache(maxsize=1)
def usual_call(facts: TemplateFacts) -> dict[str, Any]:
    """The probe's call in the shape that the template accepts.

    Where null is not dropped on the way, some templates print calls only beside a content that is null.
    """
    (call,) = facts.shape.apply([CALL])
    if not facts.profile.drops_none:
        nulls = [{**shape.apply([CALL])[0], "content": None} for shape in (Shape(), Shape("string"))]
        for candidate in (call, *nulls):
            if ARGUMENT in (Conversation([ASK, candidate, TOOL_RESULT]).render(facts).text or ""):
                return candidate
    return call


def tool_conversation(facts: TemplateFacts) -> Conversation:
    """The probe's tool conversation in the shape that the template accepts."""
    return Conversation([ASK, usual_call(facts), TOOL_RESULT])


def with_arguments(facts: TemplateFacts, arguments: dict[str, Any], result: str) -> Conversation:
    """The tool conversation with other arguments and another result, arguments in the accepted shape."""
    call = {"id": CALL_ID, "type": "function", "function": {"name": CALL_NAME, "arguments": arguments}}
    (shaped,) = facts.shape.apply([{**CALL, "tool_calls": [call]}])
    return Conversation([ASK, shaped, {**TOOL_RESULT, "content": result}])


@lru_cache(maxsize=1)
def hard_variant(facts: TemplateFacts) -> Variant:
    """The tool conversation with arguments of every JSON type, and a result that is JSON itself."""
    conversation = with_arguments(facts, HARD_ARGUMENTS, JSON_RESULT)
    title = "arguments that are numbers, booleans, null, lists or mappings"
    return Variant(Kind.HARD, title, conversation, conversation.render(facts), None)


def _call_shapes(facts: TemplateFacts) -> Iterator[Variant]:
    usual = usual_call(facts)
    call = CALL["tool_calls"][0]
    function = call["function"]
    as_string = {**call, "function": {**function, "arguments": json.dumps(function["arguments"])}}
    absent = {key: value for key, value in usual.items() if key != "content"}
    # Where keys whose value is None are dropped, null is absent: one render answers both.
    null = absent if facts.profile.drops_none else {**usual, "content": None}
    unnamed = {key: value for key, value in TOOL_RESULT.items() if key != "name"}
    # Where a result needs a name, one without says nothing about its id.
    stray = unnamed if Conversation([ASK, usual, unnamed]).render(facts).ok else TOOL_RESULT
    reference = Conversation([ASK, usual, TOOL_RESULT])

    def shaped(kind: Kind, title: str, message: dict[str, Any], serious: bool) -> Variant:
        conversation = Conversation([ASK, message, TOOL_RESULT])
        return compared(facts, kind, title, conversation, reference, serious=serious)

    mapping = {**usual, "tool_calls": CALL["tool_calls"]}
    yield shaped(Kind.ARGUMENTS, "arguments as a mapping", mapping, False)
    yield shaped(Kind.ARGUMENTS, "arguments as a JSON string", {**usual, "tool_calls": [as_string]}, True)
    yield shaped(Kind.EMPTY, "content null beside a call", null, True)
    yield shaped(Kind.EMPTY, "no content key beside a call", absent, True)
    for title, result in (
        ("a tool result without a name", unnamed),
        ("a tool result whose id no call has", {**stray, "tool_call_id": "zqother02"}),
    ):
        conversation = Conversation([ASK, usual, result])
        yield Variant(Kind.RESULT, title, conversation, conversation.render(facts), None)
    plain, empty = (Conversation([ASK, reply, ASK]) for reply in (REPLY, {**REPLY, "tool_calls": []}))
    yield compared(facts, Kind.NO_CALLS, "tool_calls: []", empty, plain, serious=True)
    if usual["tool_calls"][0]["function"]["arguments"] == function["arguments"]:
        yield hard_variant(facts)


def _parts(facts: TemplateFacts) -> Iterator[Variant]:
    """Content as one typed text part: of a user first. What no user may send is not asked of the other roles."""
    # Some templates are for conversations with tools only.
    tools = not Conversation([ASK], tools=False).render(facts).ok and Conversation([ASK]).render(facts).ok
    user = _parts_variant(facts, [], ASK, [], tools)
    yield user
    if user.outcome != user.reference:
        return
    yield _parts_variant(facts, [ASK], REPLY, [ASK], tools)
    if Conversation([SYSTEM, ASK], tools).render(facts).ok:
        yield _parts_variant(facts, [], SYSTEM, [ASK], tools)
    if facts.tool_rules_apply:
        yield _parts_variant(facts, [ASK, usual_call(facts)], TOOL_RESULT, [], True)


_ROLES = {"user": "a user message", "assistant": "a reply", "system": "a system message", "tool": "a tool result"}


def _parts_variant(
    facts: TemplateFacts,
    before: list[dict[str, Any]],
    message: dict[str, Any],
    after: list[dict[str, Any]],
    tools: bool,
) -> Variant:
    plain = Conversation([*before, message, *after], tools)
    parted = Conversation([*before, in_text_part(message), *after], tools)
    title = f"{_ROLES[message['role']]} as typed text parts"
    return compared(facts, Kind.PARTS, title, parted, plain, words=(message["content"],))


def in_parts(conversation: Conversation) -> Conversation:
    """The same conversation with every content as one typed text part."""
    return conversation._replace(messages=[in_text_part(message) for message in conversation.messages])


def knows_reasoning(facts: TemplateFacts) -> bool:
    """Whether the template reads a reasoning field of its messages."""
    return any(field in facts.static.attributes or field in facts.static.strings for field in REASONING_FIELDS)


def reasoned_call(facts: TemplateFacts, field: str = "reasoning_content", content: str = "") -> Conversation:
    """A call after reasoning under one of the field names, in the live turn."""
    call = {**usual_call(facts), field: THOUGHT}
    return Conversation([ASK, {**call, "content": content} if content else call, TOOL_RESULT])


def _reasoning_keys(facts: TemplateFacts) -> Iterator[Variant]:
    """Reasoning under each name, against the first name that the template prints."""
    if facts.profile.aliases_reasoning or not knows_reasoning(facts):
        return
    conversations = {field: reasoned_call(facts, field) for field in REASONING_FIELDS}
    outcomes = {field: conversation.render(facts) for field, conversation in conversations.items()}
    shown = [field for field, outcome in outcomes.items() if THOUGHT in (outcome.text or "")]
    for field, conversation in conversations.items():
        if shown and field != shown[0]:
            title = f"reasoning as '{field}' instead of '{shown[0]}'"
            yield compared(facts, Kind.REASONING, title, conversation, conversations[shown[0]], words=(THOUGHT,))
