"""Where in the template a render failed. Jinja knows the line only, and many templates are one line."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from template_lint.facts import TemplateFacts
from template_lint.facts.variants import Conversation
from template_lint.model import Place
from template_lint.rendering.positions import SourceToken
from template_lint.rendering.profiles import Profile
from template_lint.rendering.template import ChatTemplate, Outcome
from template_lint.rules.places import line_place

LONG_LINE = 160
"""From this many characters on, a line is no place to look at."""

_BEGINS = {"block_begin": "block_end", "variable_begin": "variable_end"}


def crash_place(
    facts: TemplateFacts,
    conversation: Conversation,
    outcome: Outcome,
    *,
    profile: Profile | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Place | None:
    """The line on which this render of a conversation failed; the tag where the line is long, or is part of a tag.

    ``profile`` and ``variables`` are those of the render, where they are not the template's own.
    """
    place = line_place(facts, outcome.line)
    if place is None:
        return None
    tags = _tags(facts)
    borders = (place.offset, place.end_offset)
    cut = any(start < border < end for border in borders for start, end, _ in tags)
    if not cut and place.end_offset - place.offset <= LONG_LINE:
        return place
    template, lines = _a_tag_a_line(facts, profile or facts.profile)
    failed = facts.render_variant(
        template,
        conversation.messages,
        tools=conversation.tool_list,
        generation_prompt=True,
        variables=variables,
    )
    # Another failure than this one is none of ours: a bound, for example, that only one of the two reached.
    if (failed.error, failed.message) != (outcome.error, outcome.message) or failed.line is None:
        return place
    index = bisect_right(lines, failed.line) - 1
    return facts.template.source_map.place(*tags[index][:2]) if index >= 0 else place


@lru_cache(maxsize=1)
def _tags(facts: TemplateFacts) -> list[tuple[int, int, int]]:
    """Start and end of each tag in the source, and the end of its first token."""
    tags: list[tuple[int, int, int]] = []
    begin: SourceToken | None = None
    for token in facts.template.source_map.tokens:
        if token.kind in _BEGINS:
            begin = token
        elif begin is not None and token.kind == _BEGINS[begin.kind]:
            # What stands behind a tag and is stripped is part of its last token.
            tags.append((begin.offset, token.offset + len(token.text.rstrip()), begin.end))
            begin = None
    return tags


@lru_cache(maxsize=2)
def _a_tag_a_line(facts: TemplateFacts, profile: Profile) -> tuple[ChatTemplate, list[int]]:
    """The template with a newline inside each tag, where it prints nothing; and the line of each tag's first word."""
    text = facts.template.source_map.text
    pieces: list[str] = []
    lines: list[int] = []
    copied, line = 0, 1
    for _, _, inside in _tags(facts):
        pieces.append(text[copied:inside] + "\n")
        copied, line = inside, line + pieces[-1].count("\n")
        lines.append(line)
    template = ChatTemplate("".join([*pieces, text[copied:]]), profile)
    template.limits = facts.template.limits
    return template, lines
