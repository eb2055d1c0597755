"""Prefix rules where the reasoning stands inside the content."""

from __future__ import annotations

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, inspect
from tests.rules.turns import CALLS, with_assistant

IN_CONTENT = with_assistant("{% set content = message.content or '' %}CUT{{ content }}").replace(
    CALLS, "{% if message.tool_calls %}{{ message.tool_calls | tojson }}{% endif %}"
)
CUT = "{% set content = content.split('</think>')[-1] %}"


def test_reasoning_inside_the_content_that_is_cut_from_earlier_turns() -> None:
    source = IN_CONTENT.replace("CUT", "{% if not loop.last %}" + CUT + "{% endif %}")
    [tool] = check_rule("TL101", source)
    assert excerpt(source, tool) == "not loop.last"
    assert tool.scenario == "call-with-reasoning-in-content"
    assert "<think>\\nThe tid…' becomes '<|bot|>\\n\\n[" in tool.message
    [user] = check_rule("TL104", source)
    assert user.scenario == "after-user-turn-reasoning-in-content"
    kwarg = source.replace("not loop.last", "not loop.last and not keep_thinking")
    [user] = check_rule("TL104", kwarg)
    assert user.message.endswith("; keep_thinking=true prevents it")
    for code in ("TL101", "TL104"):
        assert check_rule(code, IN_CONTENT.replace("CUT", "")) == []


def test_reasoning_inside_the_content_that_the_next_reply_cuts() -> None:
    ahead = "{% if messages[loop.index:] | selectattr('role', 'equalto', 'assistant') | list %}" + CUT + "{% endif %}"
    source = IN_CONTENT.replace("CUT", ahead)
    [finding] = check_rule("TL103", source)
    assert finding.message.startswith("appending the reply rewrites the prompt it answers: '<|bot|><think>")
    assert inspect(source).verdict.tito == "breaks-on-user"


def test_a_raw_reply_after_a_prompt_that_opens_the_block_fits_where_the_turn_opens_it_too() -> None:
    opens = IN_CONTENT.replace("{{ '<|bot|>' }}{% endif %}", "{{ '<|bot|><think>' }}{% endif %}").replace("CUT", CUT)
    assert any(f.severity is Severity.WARNING for f in check_rule("TL103", opens))
    opened = opens.replace(CUT, "{{ '<think>' }}{% if '</think>' not in content %}{{ '</think>' }}{% endif %}")
    assert check_rule("TL103", opened) == []
