"""TL507: the prompt depends on the day it is rendered, or says that today is a day long past."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jinja2 import nodes

from template_lint.facts import TemplateFacts
from template_lint.facts.prefix import common_prefix_length
from template_lint.facts.probes import ASK, SYSTEM, TOOL
from template_lint.model import Finding, Place, Severity
from template_lint.rendering.environment import later_now
from template_lint.rendering.positions import offset_of, walk
from template_lint.rules.base import Rule
from template_lint.rules.wording import code, shorten

_CLOCK = "strftime_now"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_DATE = rf"(?:\d{{1,2}}\.? {_MONTH} 20\d\d|{_MONTH} \d{{1,2}},? 20\d\d|20\d\d-[01]\d-[0-3]\d|20\d\d/[01]\d/[0-3]\d)"
_TODAY = rf"\b(?:today|current (?:date|time|day))\b[^\n.]{{0,24}}?({_DATE})"
_CONVERSATIONS: tuple[tuple[list[dict[str, Any]], list[dict[str, Any]] | None], ...] = (
    ([ASK], None),
    ([SYSTEM, ASK], None),
    ([ASK], [TOOL]),
    ([SYSTEM, ASK], [TOOL]),
)


class ClockDependent(Rule):
    """The prompt depends on the day it is rendered, or says that today is a day long past.

    What: two renders on two days differ; or a fixed date is presented as today's. An error where a date stands in a
    condition: then the template itself changes on some day.

    Why it matters: the prompt of a rollout and the prompt of the trainer differ when midnight lies between them, caches
    miss, and evaluations do not repeat. A condition on the date is the form of a time bomb. A fixed "today" is wrong
    from its second day on.

    How to fix: make the date a template kwarg, and pass the same value everywhere; print none by default.
    """

    code = "TL507"
    name = "clock-dependent"
    severity = Severity.WARNING

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Conditions on the date from the source; then two renders; then dates that stand still."""
        if _CLOCK in facts.static.free:
            condition = _condition(facts)
            if condition is not None:
                yield self._of_condition(facts, condition)
            else:
                yield from self._two_days(facts)
        if "20" in facts.source and re.search(_DATE, facts.source):
            yield from self._fixed(facts)

    def _of_condition(self, facts: TemplateFacts, condition: nodes.Node) -> Finding:
        start, end = facts.template.source_map.expression_range(condition)
        source = facts.template.source_map.text[start:end]
        return self.finding(
            facts,
            f"the condition {code(source)} depends on the date: the template changes by itself on some day",
            remedy="Never decide by the date; make what it decides a template kwarg.",
            place=facts.template.source_map.place(start, end),
            severity=Severity.ERROR,
            evidence={"condition": source},
        )

    def _two_days(self, facts: TemplateFacts) -> Iterator[Finding]:
        later = facts.template.variant(clock=later_now)
        for messages, tools in _CONVERSATIONS:
            one = facts.render(messages, tools=tools, generation_prompt=True).text
            other = facts.render_variant(later, messages, tools=tools, generation_prompt=True).text
            if one is not None and other is not None and one != other:
                at = common_prefix_length(one, other)
                line_start = max(one.rfind("\n", 0, at) + 1, at - 24)
                yield self.finding(
                    facts,
                    f"two days, two prompts: {shorten(_line(one, line_start))} and {shorten(_line(other, line_start))}",
                    remedy=_remedy(facts),
                    place=_clock_place(facts),
                    evidence={"one": _line(one, line_start), "other": _line(other, line_start)},
                )
                return

    def _fixed(self, facts: TemplateFacts) -> Iterator[Finding]:
        for messages, tools in _CONVERSATIONS:
            text = facts.render(messages, tools=tools, generation_prompt=True).text or ""
            match = re.search(_TODAY, text, re.IGNORECASE)
            if match is not None and match[1] in facts.source:
                yield self.finding(
                    facts,
                    f"the prompt says {shorten(match[0])} on every day: the date is fixed in the template",
                    remedy=_remedy(facts),
                    place=_text_place(facts, match[1]),
                    evidence={"date": match[1], "text": match[0]},
                )
                return


def _remedy(facts: TemplateFacts) -> str:
    """Where the template takes a date as a kwarg, and sets it where none is given, that kwarg."""
    tested = [test.node.name for test in facts.static.of(nodes.Test) if isinstance(test.node, nodes.Name)]
    dates = [name for name in tested if "date" in name or "today" in name]
    name = next((name for name in dates if name in facts.static.assigned), None)
    if name is not None:
        return f"Pass the template kwarg {name}, the same one in training and serving."
    return "Print a date only where it is passed as a template kwarg."


def _line(text: str, start: int) -> str:
    return text[start : start + 80].split("\n")[0]


def _condition(facts: TemplateFacts) -> nodes.Node | None:
    """The first comparison of a date, through any name it was given."""
    dated = _dated_names(facts)
    for comparison in facts.static.of(nodes.Compare):
        if _reads_clock(comparison, dated):
            return comparison
    tests = [node.test for node in facts.static.of(nodes.If)] + [node.test for node in facts.static.of(nodes.CondExpr)]
    return next((test for test in tests if any(_calls_clock(node) for node in walk(test))), None)


def _dated_names(facts: TemplateFacts) -> set[str]:
    dated: set[str] = set()
    assigns = facts.static.of(nodes.Assign)
    for _ in range(8):  # names of names
        before = len(dated)
        for assign in assigns:
            if isinstance(assign.target, nodes.Name) and _is_date(assign.node, dated):
                dated.add(assign.target.name)
        if len(dated) == before:
            break
    return dated


def _is_date(node: nodes.Node, dated: set[str]) -> bool:
    """Whether a value is a date, or cut or calculated from one: not a text that merely contains it."""
    if isinstance(node, nodes.Filter | nodes.Getitem):
        return node.node is not None and _is_date(node.node, dated)
    if isinstance(node, nodes.Sub | nodes.Mod | nodes.FloorDiv):
        return _is_date(node.left, dated) or _is_date(node.right, dated)
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        return _is_date(node.node.node, dated)
    return _calls_clock(node) or (isinstance(node, nodes.Name) and node.name in dated)


def _reads_clock(comparison: nodes.Compare, dated: set[str]) -> bool:
    sides = [comparison.expr, *(operand.expr for operand in comparison.ops)]
    return any(_is_date(side, dated) for side in sides)


def _calls_clock(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name == _CLOCK


def _clock_place(facts: TemplateFacts) -> Place | None:
    calls = [call for call in facts.static.of(nodes.Call) if _calls_clock(call)]
    if not calls:
        return None
    source = facts.template.source_map
    index = source.token_index(max(offset_of(calls[0].node), 0))
    end = index
    while end < len(source.tokens) - 1 and source.tokens[end].text != ")":
        end += 1
    return source.place(source.tokens[index].offset, source.tokens[end].end)


def _text_place(facts: TemplateFacts, text: str) -> Place | None:
    source = facts.template.source_map
    at = source.text.find(text)
    return source.place(at, at + len(text)) if at >= 0 else None
