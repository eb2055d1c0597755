"""Where in the template a finding about a prompt points."""

from __future__ import annotations

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import TOOL
from template_lint.facts.variants import Conversation
from template_lint.model import Place
from template_lint.rendering.positions import walk

_FIELDS = ("content", "arguments")


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


def printed_at(facts: TemplateFacts, conversation: Conversation, offset: int) -> Place | None:
    """The expression or text that prints the character at ``offset`` of a conversation's prompt."""
    tools = [TOOL] if conversation.tools else None
    return facts.place_in(conversation.messages, offset, tools=tools, generation_prompt=True)


def value_printed_at(facts: TemplateFacts, conversation: Conversation, offset: int) -> Place | None:
    """The same for a character that comes from the conversation: cheap where its line prints one value only."""
    tools = [TOOL] if conversation.tools else None
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
    return printed_at(facts, conversation, offset)


def _reads_message(expression: nodes.Node) -> bool:
    """Whether an expression reads content or arguments itself, and calls no macro."""
    reads = False
    for node in walk(expression):
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
            return False
        if isinstance(node, nodes.Getattr):
            reads = reads or node.attr in _FIELDS
        elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            reads = reads or node.arg.value in _FIELDS
    return reads
