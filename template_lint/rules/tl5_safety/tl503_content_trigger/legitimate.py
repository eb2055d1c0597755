"""Literals that a template may well look for in the text of a message."""

from __future__ import annotations

import re

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.origins import CONTENT, PART
from template_lint.rendering.api import CONTINUE_TAG
from template_lint.rules.tl5_safety.tl503_content_trigger.comparisons import Comparison

_MARKER = r"(?:<[^<>\n]*+>?+|\[[A-Z_ /]++\]?+|[\s\w>/]++)++"
_OPENING = r"\s*[<\[]"
_OF_TURNS = (
    r"think|thought|reason|answer|tool|function|call|response|observation|channel|message|role|turn|final|begin|end|sys|inst"
    r"|user|assistant|image|video|audio|sep"
)
_SWITCH = r"\s*/(?:no[_-]?)?think(?:ing)?\s*"
_PART_TYPES = frozenset({"text", "image", "image_url", "video", "video_url", "audio", "audio_url", "input_audio"})


class Legitimate:
    """Decides it for one template."""

    def __init__(self, facts: TemplateFacts) -> None:
        self._facts = facts
        self._keys: set[str] | None = None

    def allows(self, comparison: Comparison) -> bool:
        """Whether the literal is white space or punctuation, a marker of turns, a thinking switch, the key of a part
        that is a mapping, or what apply_chat_template itself puts there.
        """
        literal = comparison.literal
        if (
            not any(character.isalnum() for character in literal)
            or literal == CONTINUE_TAG
            or re.fullmatch(_SWITCH, literal)
        ):
            return True
        if (
            re.match(_OPENING, literal)
            and re.fullmatch(_MARKER, literal)
            and re.search(_OF_TURNS, literal, re.IGNORECASE)
        ):
            return True
        return literal in _PART_TYPES or literal in self._keys_of_content()

    def _keys_of_content(self) -> set[str]:
        """Keys by which the template reads a content or a part of it."""
        if self._keys is None:
            origins = self._facts.origins
            owners: list[tuple[nodes.Node, str]] = [
                (node.node, node.attr) for node in self._facts.static.kinds.get(nodes.Getattr, ())
            ]
            owners += [
                (node.node, node.arg.value)
                for node in self._facts.static.kinds.get(nodes.Getitem, ())
                if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)
            ]
            called = {id(call.node) for call in self._facts.static.kinds.get(nodes.Call, ())}
            self._keys = {
                key for owner, key in owners if origins.of(owner) & {CONTENT, PART} and id(owner) not in called
            }
        return self._keys
