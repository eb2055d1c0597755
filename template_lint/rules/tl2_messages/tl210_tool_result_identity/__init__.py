"""TL210: results of parallel calls bind by position."""

from __future__ import annotations

from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.facts.parallel import RESULTS, parallel_conversation, parallel_outcome, shows_arguments
from template_lint.model import Finding, Severity
from template_lint.rules.base import Rule, Skip


class ToolResultIdentity(Rule):
    """Swapping the ids of two tool results changes nothing.

    What: two calls in one turn and both their results. The same conversation with the ids of the results swapped gives
    the same prompt: the template looks at their order only, or at the name that a result may carry.

    Why it matters: results that come back in another order than the calls, as they do when tools run at the same time,
    are read as answers to the wrong calls.

    How to fix: nothing, where the model was trained so: sort the results by their calls before rendering.
    """

    code = "TL210"
    name = "tool-result-identity"
    severity = Severity.INFO
    needs = ("template", "syntax", "tools")

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """Render both orders of ids."""
        straight = parallel_outcome(facts)
        if straight.text is None:
            raise Skip(f"parallel calls do not render: {straight.error}: {straight.message[:120]}")
        if not all(result in straight.text for result in RESULTS):
            raise Skip("the results of parallel calls are not all in the prompt (TL202)")
        if not all(shows_arguments(straight.text)):
            raise Skip("the calls of one turn are not all in the prompt (TL201)")
        swapped = parallel_outcome(facts, swapped=True)
        if swapped.text is None:
            raise Skip(f"parallel calls with their ids swapped do not render: {swapped.error}: {swapped.message[:120]}")
        if swapped.text == straight.text:
            named = _named_results_differ(facts)
            yield self.finding(
                facts,
                "two results with their tool_call_ids swapped give the same prompt: results bind by"
                + (" the name they carry, and without one by position" if named else " position"),
                remedy="Give each result the name of its function, and send results in the order of the calls."
                if named
                else "Send the results of parallel calls in the order of the calls.",
                evidence={"names_bind": named},
            )


def _named_results_differ(facts: TemplateFacts) -> bool:
    """Whether results that carry the names of their functions give another prompt with ids and names swapped."""
    straight, swapped = (
        parallel_conversation(facts, swapped=swap, named=True).render(facts).text for swap in (False, True)
    )
    return straight is not None and swapped is not None and straight != swapped
