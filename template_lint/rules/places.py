"""Where in the template a finding about a prompt points."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.inline_reasoning import looked_for
from template_lint.facts.variants import Conversation
from template_lint.model import Place
from template_lint.rendering.positions import walk
from template_lint.scenarios.model import Scenario

_FIELDS = ("content", "arguments")
_MAKES_TEXT = ("string", "trim")
_MADE_TEXT = (*_FIELDS, "function")


def line_place(facts: TemplateFacts, line: int | None) -> Place | None:
    """The whole of one template line, without its indentation."""
    lines = facts.template.source_map.text.split("\n")
    if line is None or not 0 < line <= len(lines):
        return None
    start = sum(len(text) + 1 for text in lines[: line - 1])
    text = lines[line - 1]
    indent = len(text) - len(text.lstrip())
    return facts.template.source_map.place(
        start + indent, start + len(text.rstrip()) if text.strip() else start + indent
    )


def field_place(facts: TemplateFacts, *fields: str) -> Place | None:
    """Where the template first reads one of these fields, as ``x.field`` or ``x['field']``."""
    reads: list[nodes.Expr] = [node for node in facts.static.of(nodes.Getattr) if node.attr in fields]
    reads += [
        node
        for node in facts.static.of(nodes.Getitem)
        if isinstance(node.arg, nodes.Const) and node.arg.value in fields
    ]
    if not reads:
        return None
    source_map = facts.template.source_map
    return source_map.place(*min(source_map.expression_range(node) for node in reads))


def tag_place(facts: TemplateFacts) -> Place | None:
    """Where the template first cuts contents at the tag that closes reasoning, or looks for it."""
    closer = facts.inline_tags.closer if facts.inline_tags is not None else None
    node = next((node for text, node in looked_for(facts) if text == closer), None)
    source_map = facts.template.source_map
    return None if node is None else source_map.place(*source_map.expression_range(node))


def printed_at(facts: TemplateFacts, conversation: Conversation, offset: int) -> Place | None:
    """The expression or text that prints the character at ``offset`` of a conversation's prompt."""
    return facts.place_in(conversation.messages, offset, tools=conversation.tool_list, generation_prompt=True)


def value_printed_at(
    facts: TemplateFacts, conversation: Conversation, offset: int, value: str | None = None
) -> Place | None:
    """The same for a character that comes from the conversation: cheap where its line prints one value only.

    Where what prints it only puts texts together, ``value`` is looked for in the text of the macros that made them.
    """
    tools = conversation.tool_list
    line = facts.line_printing(conversation.messages, offset, tools=tools, generation_prompt=True)
    candidates = [
        child
        for output in facts.static.kinds.get(nodes.Output, ())
        for child in output.nodes
        if child.lineno == line and not isinstance(child, nodes.TemplateData)
    ]
    if len(candidates) == 1 and _reads_message(candidates[0]):
        return facts.template.source_map.place(*facts.template.source_map.expression_range(candidates[0]))
    # A trace takes a second compilation, and knows what was printed inside a macro.
    made = value and facts.place_printing(value, conversation.messages, tools=tools, generation_prompt=True)
    return made or printed_at(facts, conversation, offset)


def message_printed_at(
    facts: TemplateFacts, scenario: Scenario, count: int, generation_prompt: bool, offset: int
) -> Place | None:
    """What prints a message's text: the outermost macro call that is given a field of the message, else what prints."""
    printers = facts.printers(scenario, count, generation_prompt, offset)
    for place in reversed(printers):
        expression = _printed_expression(facts, place)
        if expression is not None and any(_field(node) in _FIELDS for node in walk(expression)):
            return place
    return printers[0] if printers else None


def made_text_at(facts: TemplateFacts, printed: Place | None, filters: tuple[str, ...] = _MAKES_TEXT) -> Place | None:
    """The filter that makes a text of what is printed, where one ``set`` of the printed name does so; else ``printed``.

    What is printed there is a text already: only before it is one can it be printed in another way.
    """
    expression = _printed_expression(facts, printed)
    if expression is None or _text_makers(expression, filters):
        return printed
    names = {name for node in walk(expression) if (name := _assigned_name(node)) is not None}
    inside = {id(node): macro for macro in facts.static.kinds.get(nodes.Macro, ()) for node in walk(macro)}
    makers = [
        maker
        for assign in facts.static.kinds.get(nodes.Assign, ())
        if _assigned_name(assign.target) in names and inside.get(id(assign)) is inside.get(id(expression))
        for maker in _text_makers(assign.node, filters)
    ]
    if len(makers) != 1:
        return printed
    return facts.template.source_map.place(*facts.template.source_map.expression_range(makers[0]))


def _printed_expression(facts: TemplateFacts, place: Place | None) -> nodes.Expr | None:
    return None if place is None else _printed_expressions(facts).get((place.offset, place.end_offset))


@lru_cache(maxsize=1)
def _printed_expressions(facts: TemplateFacts) -> dict[tuple[int, int], nodes.Expr]:
    """What the template prints, by where it stands: a piece may be printed again by thousands of them."""
    outputs: list[nodes.Output] = facts.static.kinds.get(nodes.Output, [])
    printed = [node for output in outputs for node in output.nodes if not isinstance(node, nodes.TemplateData)]
    return {facts.template.source_map.expression_range(node): node for node in printed}


def _text_makers(expression: nodes.Node, filters: tuple[str, ...]) -> list[nodes.Filter]:
    """The filters in an expression that make a text of a name or a message's field, whatever it holds."""
    return [
        node
        for node in walk(expression)
        if isinstance(node, nodes.Filter)
        and node.name in filters
        and (isinstance(node.node, nodes.Name) or (node.node is not None and _field(node.node) in _MADE_TEXT))
    ]


def _field(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return str(node.arg.value) if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) else None


def _assigned_name(node: nodes.Node) -> str | tuple[str, str] | None:
    """A name, or a namespace and its attribute, as it is set or read."""
    if isinstance(node, nodes.Name):
        return node.name
    if isinstance(node, nodes.NSRef):
        return node.name, node.attr
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return node.node.name, node.attr
    return None


def _reads_message(expression: nodes.Node) -> bool:
    """Whether an expression reads content or arguments itself, and calls no macro."""
    reads = False
    for node in walk(expression):
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            return False
        reads = reads or _field(node) in _FIELDS
    return reads
