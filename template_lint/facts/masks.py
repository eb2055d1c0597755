"""What ``{% generation %}`` marks in a finished turn, and what it should mark. All of it is read off renders.

The expected span is the finished turn without the generation prompt, the token that ends it included.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import nodes

from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.turn import plain_turn
from template_lint.rendering.positions import offset_of
from template_lint.scenarios.model import Scenario, in_text_part

if TYPE_CHECKING:
    from template_lint.facts.template_facts import TemplateFacts

Range = tuple[int, int]
Marking = Callable[[Scenario, int], tuple[str | None, list[Range]]]
"""The text of a scenario's first messages, no generation prompt, and the spans in it."""

_turns: weakref.WeakKeyDictionary[TemplateFacts, list[MarkedTurn]] = weakref.WeakKeyDictionary()
_in_parts: weakref.WeakKeyDictionary[TemplateFacts, list[Scenario]] = weakref.WeakKeyDictionary()
_PIECES = nodes.Macro, nodes.AssignBlock, nodes.FilterBlock, nodes.CallBlock


class MarkedTurn(NamedTuple):
    """A finished turn that is last in ``text``, and what is marked in it.

    It is the last of the first ``length`` messages of ``scenario``. It begins where the ``closed`` history before it
    ends, at ``history``; the generation prompt ends at ``start`` (``exact`` where the turn begins with all of it); its
    last character that is no white space is before ``stop``. ``marked`` are the spans in it, ``before`` those in the
    history; ``alone`` those of the history rendered by itself, None where that is no prefix. ``rewritten``: the reply
    changes the history before it, so that the turn has no beginning.
    """

    scenario: Scenario
    length: int
    text: str
    history: int
    start: int
    exact: bool
    stop: int
    marked: list[Range]
    before: list[Range]
    alone: list[Range] | None
    rewritten: bool

    @property
    def starts_right(self) -> bool:
        """Whether what is marked begins where the generation prompt ends.

        A reply of another mode than the generation prompt asks for has no exact beginning.
        """
        begin = self.marked[0][0]
        return begin == self.start if self.exact else min(self.history + 1, self.start) <= begin <= self.start

    @property
    def reaches_end(self) -> bool:
        """Whether the end of the turn is marked. White space after it may be, too."""
        return self.marked[-1][1] >= self.stop

    @property
    def gaps(self) -> list[Range]:
        """What lies between the spans."""
        ends, starts = [end for _, end in self.marked[:-1]], [start for start, _ in self.marked[1:]]
        return list(zip(ends, starts, strict=True))

    @property
    def foreign(self) -> Range | None:
        """The first span of the history that holds the content of a message which the model did not write."""
        messages = self.scenario.messages[: self.length - 1]
        return next((span for span in self.before if _is_foreign(self.text[slice(*span)], messages)), None)


def marked_turn(facts: TemplateFacts, scenario: Scenario, earlier: int, marking: Marking) -> MarkedTurn | None:
    """The reply that follows the first ``earlier`` messages; None where a side does not render."""
    closed = facts.render_scenario(scenario, earlier, False).text
    prompt = facts.render_scenario(scenario, earlier, True).text
    text, spans = marking(scenario, earlier + 1)
    if closed is None or prompt is None or text is None:
        return None
    history, start = common_prefix_length(closed, text), common_prefix_length(prompt, text)
    spans = joined(spans)
    alone_text, alone = marking(scenario, earlier)
    return MarkedTurn(
        scenario=scenario,
        length=earlier + 1,
        text=text,
        history=history,
        start=start,
        exact=start == len(prompt),
        stop=len(text.rstrip()),
        marked=[(a, b) for a, b in spans if b > history],
        before=[(a, b) for a, b in spans if b <= history],
        alone=joined(alone) if alone_text is not None and text.startswith(alone_text) else None,
        rewritten=not text.startswith(closed),
    )


def marked_turns(facts: TemplateFacts) -> list[MarkedTurn]:
    """The replies of all conversations that can be judged, each once.

    Left out are those that rewrite what came before, those with tools where the template does not show them, and those
    of which nothing is printed: that is no question of the mask. A template that does not print a reply as it is, is
    asked with text parts.
    """
    if facts not in _turns:
        turns: list[MarkedTurn] = []
        if plain_turn(facts) is None:
            # Renders are remembered by the identity of messages: these must live as long.
            _in_parts[facts] = list(_in_text_parts(facts.scenarios))
            turns = list(_judged(facts, _in_parts[facts]))
        _turns[facts] = turns or list(_judged(facts, facts.scenarios))
    return _turns[facts]


def _in_text_parts(scenarios: Sequence[Scenario]) -> Iterator[Scenario]:
    """The catalogue's conversations with every content as one text part. Messages that were shared are shared again."""
    shared: dict[int, dict[str, Any]] = {}
    for scenario in scenarios:
        if not scenario.own:
            for message in scenario.messages:
                if id(message) not in shared:
                    shared[id(message)] = in_text_part(message) if message.get("content") else message
            messages = [shared[id(message)] for message in scenario.messages]
            yield scenario._replace(name=f"{scenario.name} in text parts", messages=messages)


def _judged(facts: TemplateFacts, scenarios: Sequence[Scenario]) -> Iterator[MarkedTurn]:
    memo: dict[Any, tuple[str | None, list[Range]]] = {}

    def marking(scenario: Scenario, count: int) -> tuple[str | None, list[Range]]:
        key = _key(scenario, count)
        if key not in memo:
            outcome, spans = facts.template.render_with_spans(facts.scenario_context(scenario, count, False))
            memo[key] = outcome.text, spans
        return memo[key]

    seen: set[Any] = set()
    shows_tools = facts.tool_rules_apply and facts.tool_probe.arguments and facts.tool_probe.result
    for scenario in scenarios:
        for earlier, later in zip(scenario.cuts, scenario.cuts[1:], strict=False):
            messages = scenario.messages[:later]
            if messages[-1].get("role") != "assistant" or later != earlier + 1 or _key(scenario, later) in seen:
                continue
            seen.add(_key(scenario, later))
            if not shows_tools and any(m.get("tool_calls") or m.get("role") == "tool" for m in messages):
                continue
            turn = marked_turn(facts, scenario, earlier, marking)
            if turn is not None and not turn.rewritten and (turn.marked or turn.start < turn.stop):
                yield turn


def _key(scenario: Scenario, count: int) -> Any:
    return tuple(map(id, scenario.messages[:count])), id(scenario.tools), repr(scenario.kwargs)


def joined(spans: Sequence[Range]) -> list[Range]:
    """Adjacent spans as one, empty ones left out."""
    found: list[Range] = []
    for start, end in spans:
        if start == end:
            continue
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def ends_in_white_space(facts: TemplateFacts) -> bool:
    """Whether nothing but white space follows the content of a plain reply: then no terminator can be told from it."""
    turn = plain_turn(facts)
    return turn is None or not turn.text[turn.reply_end :].strip()


def displaced_tags(facts: TemplateFacts) -> list[int]:
    """Offsets in the source of ``{% generation %}`` tags whose spans get wrong offsets in every transformers.

    A span begins where the pieces yielded so far end. What a macro, a ``set`` block, a ``filter`` or ``call`` block
    collects is not yielded yet.
    """
    return sorted(_displaced(facts.template.tree, False))


def is_generation(node: nodes.Node) -> bool:
    """Whether a node is a ``{% generation %}`` block."""
    if not isinstance(node, nodes.CallBlock):
        return False
    target = node.call.node
    return isinstance(target, nodes.ExtensionAttribute) and target.name == "_generation_support"


def _displaced(node: nodes.Node, inside: bool) -> Iterator[int]:
    for child in node.iter_child_nodes():
        if is_generation(child) and inside:
            yield offset_of(child)
        yield from _displaced(child, inside or isinstance(child, _PIECES))


def _is_foreign(text: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    others = [content for m in messages if m["role"] != "assistant" for content in _texts(m.get("content"))]
    return any(content in text for content in others if content)


def _texts(content: Any) -> list[str]:
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
