"""The repair of templates that cut reasoning out of contents."""

from __future__ import annotations

from template_lint.facts.prefix import Appended
from template_lint.patches.pair import sibling
from template_lint.patches.repair import Result, repair
from tests.facts.helper import END, TOOLS, TURN, facts

CUT = "{{ m.content.split('</think>')|last if m.role == 'assistant' and not loop.last else m.content }}"
SOURCE = TOOLS + TURN.replace("{{ m.content }}", CUT) + END


def test_reasoning_inside_contents_is_kept_where_the_next_message_cut_it() -> None:
    original = facts(SOURCE)
    repaired = repair(original)
    assert repaired.result is Result.REPAIRED
    assert repaired.what[0] == "`loop.last` is taken as true"
    fixed = sibling(original, repaired.source)
    assert [scenario.name for scenario in fixed.asked_scenarios if scenario.name.endswith("-in-content")]
    assert all(question.holds for question in fixed.answered(Appended.TOOL))
