"""TL404: what is marked and what the model wrote do not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from template_lint.facts import TemplateFacts
from template_lint.facts.masks import MarkedTurn, displaced_tags
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule
from template_lint.rules.masks import Wrong, judged, mask_findings

_TAG = "generation"


class MaskCoverage(Rule):
    """What ``{% generation %}`` marks and what the model wrote do not match.

    What: every finished turn that is printed must have one span, calls included; no message of another may be inside
    one; earlier turns must stay marked as they were. A tag inside a macro, a ``set`` block, a ``filter`` or a ``call``
    block is wrong in every transformers: its offsets are those of another text. Spans are those that the mirrored
    version records: 4.57 loses one that begins the text.

    Why it matters: training learns from what others wrote, or not at all from what the model wrote.

    How to fix: print each assistant message, reasoning, content and calls, within one ``{% generation %}`` block at the
    top level or in a loop.
    """

    code = "TL404"
    name = "mask-coverage"
    severity = Severity.ERROR
    needs = ("template", "syntax", "generation")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """The tags' places, then the spans of every turn."""
        displaced = displaced_tags(facts)
        source_map = facts.template.source_map
        for offset in displaced[:1]:
            at = source_map.text.find(_TAG, offset)
            yield self.finding(
                facts,
                "{% generation %} inside a macro or a block that collects text: its offsets are those of another text",
                remedy="Move the tag to where the text is printed.",
                place=source_map.place(at, at + len(_TAG)),
                evidence={"offsets": displaced},
            )
        if displaced:
            return
        turns = judged(facts)
        found = [wrong for turn in turns if (wrong := _judge(turn)) is not None] or list(_lost(turns))
        remedy = "Print each assistant message within one {% generation %} block."
        yield from mask_findings(self, facts, found, remedy)


def _judge(turn: MarkedTurn) -> Wrong | None:
    reply = turn.scenario.messages[turn.length - 1]
    what = "a call" if reply.get("tool_calls") else "a reply"
    if not turn.marked:
        return Wrong(turn, f"nothing of {what} is marked: {{text}}", turn.start, turn.stop)
    for start, end in turn.gaps:
        if turn.text[start:end].strip():
            return Wrong(turn, f"{{text}} inside {what} is not marked", start, end)
    if turn.foreign is not None:
        return Wrong(turn, "{text}, which another wrote, is marked", *turn.foreign)
    if turn.alone is not None and turn.before != turn.alone:
        return Wrong(turn, "an earlier turn is marked otherwise once a reply follows", 0, turn.history)
    return None


def _lost(turns: Sequence[MarkedTurn]) -> Iterator[Wrong]:
    """Turns that were marked when they were last, and are not when another reply follows."""
    for turn in turns:
        for earlier in turns:
            if earlier.scenario is turn.scenario and earlier.length < turn.length and earlier.marked:
                starts = [start for start, _ in turn.before]
                begin, end = earlier.marked[0][0], earlier.stop
                if turn.text.startswith(earlier.text[:end]) and begin not in starts:
                    yield Wrong(turn, "{text} is not marked once another reply follows", begin, end)
                    break
