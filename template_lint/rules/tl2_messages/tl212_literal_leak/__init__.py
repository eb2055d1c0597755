"""TL212: template source or an escape sequence in the prompt; white space before BOS."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.probes import ASK, SYSTEM
from template_lint.facts.variants import REPLY, Conversation, tool_conversation
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.positions import offset_of
from template_lint.rules.base import Rule
from template_lint.rules.places import printed_at
from template_lint.rules.wording import around, shorten

_SOURCE = (
    r"\{%|(?<!\d)%\}|\{#-|-#\}|\braise_exception\s*\(|\b(?:endif|endfor|endmacro)\b|\badd_generation_prompt\b"
    r"|\bloop\.(?:first|last|index0?)\b|\bmessages?\s*\[|\bmessage\.(?:role|content)\b"
    r"|[=!]=\s*['\"](?:user|system|assistant|tool)['\"]"
)
_ESCAPE = r"\\[ntr]"
_JSON_STRING = r'(?:[:\[{,(=]\s*|^)"(?:[^"\\]|\\.)*$'
_BEGIN = r"\s+(<s>|<bos>|<BOS>|<\|begin_of_text\|>|<｜begin▁of▁sentence｜>|<\|startoftext\|>|<\|endoftext\|>|\[gMASK\])"
_LOOK_BACK = 400
_SURE = 12


class LiteralLeak(Rule):
    """The prompt holds template source, or a newline that was escaped once too often, or begins before BOS.

    What: a piece of Jinja that is not inside a tag any more, such as the rest of a condition after ``%}``; the two
    characters backslash and n where the template itself means a newline; blanks or a newline in front of the
    begin-of-text token. What our own conversations hold is never blamed, nor are escapes inside JSON.

    Why it matters: the model reads tokens it was never trained on, in every prompt.

    How to fix: move the source back into its tag; write ``'\\n'`` with one backslash; strip white space with ``{%-``.
    """

    code = "TL212"
    name = "literal-leak"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Look at the text outside tags, then at a few prompts."""
        yield from self._source(facts)
        conversations = [Conversation([ASK, REPLY, ASK], tools=False), Conversation([SYSTEM, ASK], tools=False)]
        if facts.tool_rules_apply:
            conversations.append(tool_conversation(facts))
        prompts = [
            (conversation, text)
            for conversation in conversations
            if (text := conversation.render(facts).text) is not None
        ]
        yield from self._escape(facts, prompts)
        yield from self._before_begin(facts, prompts)

    def _source(self, facts: TemplateFacts) -> Iterator[Finding]:
        for node in facts.static.of(nodes.TemplateData):
            match = re.search(_SOURCE, node.data)
            if match is not None:
                start = offset_of(node) + match.start()
                yield self.finding(
                    facts,
                    f"template source stands outside a tag and is printed: {shorten(_line_of(node.data, match))}",
                    remedy="Move it back into its {% ... %} or {{ ... }}, or delete it.",
                    place=facts.template.source_map.place(start, start + len(match[0])),
                    evidence={"kind": "source", "text": match[0]},
                )
                return

    def _escape(self, facts: TemplateFacts, prompts: list[tuple[Conversation, str]]) -> Iterator[Finding]:
        for conversation, text in prompts:
            for match in re.finditer(_ESCAPE, text):
                line = text[max(0, match.start() - _LOOK_BACK) : match.start()].rpartition("\n")[2]
                if re.search(_JSON_STRING, line):
                    continue
                excerpt, at = around(text, match.start())
                yield self.finding(
                    facts,
                    f"the prompt holds a backslash and {match[0][1]!r} instead of the character they stand for:"
                    f" {shorten(text[max(0, match.start() - 20) : match.start() + 22])}",
                    remedy="Write the escape with one backslash inside a string in a tag, or a real newline outside.",
                    place=_escape_place(facts, conversation, match),
                    evidence={"kind": "escape", "prompt": excerpt, "excerpt_offset": at},
                )
                return

    def _before_begin(self, facts: TemplateFacts, prompts: list[tuple[Conversation, str]]) -> Iterator[Finding]:
        for conversation, text in prompts:
            if not text[:1].isspace():
                continue
            bos = facts.variables.get("bos_token")
            stripped = text.lstrip()
            if re.match(_BEGIN, text) or (isinstance(bos, str) and bos and stripped.startswith(bos)):
                blank = text[: len(text) - len(stripped)]
                yield self.finding(
                    facts,
                    f"{shorten(repr(blank)[1:-1])} comes before the begin-of-text token {shorten(stripped[:24])}",
                    remedy="Strip it: begin the tags before BOS with {%- and end them with -%}.",
                    place=printed_at(facts, conversation, 0),
                    evidence={"kind": "before BOS", "text": blank},
                )
                return


def _escape_place(facts: TemplateFacts, conversation: Conversation, match: re.Match[str]) -> Place | None:
    """The two characters, where the text that prints them holds them so; else the whole of that text."""
    place = printed_at(facts, conversation, match.start())
    if place is None:
        return None
    source_map = facts.template.source_map
    before = match.string[: match.start()][-_SURE:]
    at = source_map.text.find(before + match[0], place.offset, place.end_offset)
    return source_map.place(at + len(before), at + len(before) + len(match[0])) if at >= 0 else place


def _line_of(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    return text[max(start, match.start() - 20) : end if end >= 0 else len(text)].strip()
