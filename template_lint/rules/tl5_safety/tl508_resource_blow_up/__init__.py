"""TL508: rendering had to be stopped, or grows faster than the conversation."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import nodes
from jinja2.sandbox import MAX_RANGE

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rendering.positions import offset_of
from template_lint.rules.base import Rule
from template_lint.rules.places import line_place

_EXCHANGES = (4, 8, 16)
_TOLERANCE = 1.5


class ResourceBlowUp(Rule):
    """Rendering reached a bound, or the prompt grows faster than the conversation.

    What: every render is bounded in processor time, memory and output; one that reaches a bound is stopped. Plain
    conversations of 4, 8 and 16 exchanges are rendered too: their prompts must grow in step. A ``range`` of more than
    100,000 numbers, which the sandbox of ``apply_chat_template`` refuses, is reported too: engines without that limit
    count to the end.

    Why it matters: a template comes from strangers and runs in your server. A few dozen characters are enough to keep
    a core busy for days or to fill the memory.

    How to fix: do not use the template. If it is yours: loop over the messages once, and never over ``range`` of a
    number that is not small.
    """

    code = "TL508"
    name = "resource-blow-up"
    severity = Severity.ERROR
    needs = ("template",)

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Measure growth, then report what was stopped in any render so far, or while compiling."""
        compiles = facts.compile_error is None
        sizes = _sizes(facts) if compiles else None
        if compiles:
            yield from self._ranges(facts)
        if facts.stopped:
            scenario, outcome = facts.stopped[0]
            yield self.finding(
                facts,
                f"rendering {scenario} was {outcome.message}",
                remedy="Do not use this template; nothing that it renders for other conversations can be relied on.",
                scenario=scenario,
                evidence={"reason": outcome.message, "stopped": len(facts.stopped)},
            )
        elif sizes is not None:
            first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
            expected = first * (_EXCHANGES[2] - _EXCHANGES[1]) / (_EXCHANGES[1] - _EXCHANGES[0])
            if second > _TOLERANCE * expected:
                yield self.finding(
                    facts,
                    f"the prompt grows faster than the conversation: {sizes[0]}, {sizes[1]}, {sizes[2]} characters for "
                    f"{_EXCHANGES[0]}, {_EXCHANGES[1]}, {_EXCHANGES[2]} exchanges",
                    remedy="Print each message once.",
                    evidence={"exchanges": list(_EXCHANGES), "characters": sizes},
                )

    def _ranges(self, facts: TemplateFacts) -> Iterator[Finding]:
        """The first range that is too long as it is written; else one that the sandbox refused in a plain chat."""
        remedy = f"Loop over the messages; a range of a chat template has a few numbers, and never {MAX_RANGE:,}."
        calls = [call for call in facts.static.of(nodes.Call) if call.node == nodes.Name("range", "load")]
        for call in sorted(calls, key=offset_of):
            count = _length(facts, call)
            if count > MAX_RANGE:
                yield self.finding(
                    facts,
                    f"asks for a range of {count:,} numbers: the sandbox raises OverflowError, and an engine without "
                    "its limit counts to the end",
                    remedy=remedy,
                    place=facts.template.source_map.place(*facts.template.source_map.expression_range(call)),
                    evidence={"numbers": count},
                )
                return
        outcome = facts.render(_chat(_EXCHANGES[0]))
        if calls and outcome.error == "OverflowError":
            yield self.finding(
                facts,
                f"asks for a range of more than {MAX_RANGE:,} numbers in a plain conversation: the sandbox raises "
                "OverflowError, and an engine without its limit counts to the end",
                remedy=remedy,
                place=line_place(facts, outcome.line),
                evidence={"reason": outcome.message},
            )


def _length(facts: TemplateFacts, call: nodes.Call) -> int:
    """How many numbers a range with constant arguments has, 0 where they are none."""
    values = [facts.constants.values(argument)[:1] for argument in call.args]
    bounds = [value for found in values for value in found if isinstance(value, int)]
    if len(bounds) != len(call.args) or not 1 <= len(bounds) <= 3:
        return 0
    first, last, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return max(0, (last - first + step - (1 if step > 0 else -1)) // step) if step else 0


def _chat(exchanges: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": "zqquestion"}, {"role": "assistant", "content": "zqreply"}] * exchanges


def _sizes(facts: TemplateFacts) -> list[int] | None:
    sizes = []
    for count in _EXCHANGES:
        outcome = facts.render(_chat(count))
        if outcome.text is None:
            return None
        sizes.append(len(outcome.text))
    return sizes
