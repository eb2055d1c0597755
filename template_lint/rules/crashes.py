"""Where in the template a render failed. Jinja knows the line only, and many templates are one line."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from template_lint.facts import TemplateFacts
from template_lint.facts.variants import Conversation
from template_lint.model import Place
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.rules.places import line_place

LONG_LINE = 160
"""From this many characters on, a line is no place to look at."""

_BEGINS = {"block_begin": "block_end", "variable_begin": "variable_end"}


def crash_place(facts: TemplateFacts, conversation: Conversation, outcome: Outcome) -> Place | None:
    """The line on which this render of a conversation failed; the tag where the line is long, or is part of a tag."""
    place = line_place(facts, outcome.line)
    if place is None:
        return None
    template, tags = _a_tag_a_line(facts)
    borders = (place.offset, place.end_offset)
    cut = any(start < border < end for border in borders for _, start, end in tags)
    if not cut and place.end_offset - place.offset <= LONG_LINE:
        return place
    failed = facts.render_variant(template, conversation.messages, tools=conversation.tool_list, generation_prompt=True)
    # Another failure than this one is none of ours: a bound, for example, that only one of the two reached.
    if (failed.error, failed.message) != (outcome.error, outcome.message) or failed.line is None:
        return place
    index = bisect_right([line for line, _, _ in tags], failed.line) - 1
    return facts.template.source_map.place(*tags[index][1:]) if index >= 0 else place


@lru_cache(maxsize=1)
def _a_tag_a_line(facts: TemplateFacts) -> tuple[ChatTemplate, list[tuple[int, int, int]]]:
    """The template with a newline inside each tag, where it prints nothing, and (line, start, end) of the tags.

    ``line`` is that of the tag's first word in the changed template, the offsets are those of the tag in the source.
    """
    source_map = facts.template.source_map
    pieces: list[str] = []
    tags: list[tuple[int, int, int]] = []
    copied, line = 0, 1
    for index, token in enumerate(source_map.tokens):
        if token.kind not in _BEGINS:
            continue
        piece = source_map.text[copied : token.end] + "\n"
        pieces.append(piece)
        copied, line = token.end, line + piece.count("\n")
        ending = next((t for t in source_map.tokens[index:] if t.kind == _BEGINS[token.kind]), token)
        # What stands behind a tag and is stripped is part of its last token.
        tags.append((line, token.offset, ending.offset + len(ending.text.rstrip())))
    # Not parsed before it is rendered.
    template = ChatTemplate("".join([*pieces, source_map.text[copied:]]), facts.profile)
    template.limits = facts.template.limits
    return template, tags
