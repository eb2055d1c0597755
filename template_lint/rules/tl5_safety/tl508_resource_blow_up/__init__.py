"""TL508: rendering had to be stopped, or grows faster than the conversation."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule

_EXCHANGES = (4, 8, 16)
_TOLERANCE = 1.5


class ResourceBlowUp(Rule):
    """Rendering reached a bound, or the prompt grows faster than the conversation.

    What: every render is bounded in processor time, memory and output; one that reaches a bound is stopped. Plain
    conversations of 4, 8 and 16 exchanges are rendered too: their prompts must grow in step.

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
        sizes = _sizes(facts) if facts.compile_error is None else None
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


def _sizes(facts: TemplateFacts) -> list[int] | None:
    sizes = []
    for count in _EXCHANGES:
        exchange = [{"role": "user", "content": "zqquestion"}, {"role": "assistant", "content": "zqreply"}]
        outcome = facts.render(exchange * count)
        if outcome.text is None:
            return None
        sizes.append(len(outcome.text))
    return sizes
