"""TL1: places, values and causes on small templates."""

from __future__ import annotations

from typing import Any

from template_lint.model import Severity
from template_lint.scenarios.model import Scenario, natural_cuts
from tests.facts.helper import SCANNED_RESULTS
from tests.rules.helper import check_rule, excerpt, inspect, skip_reason
from tests.rules.turns import STABLE, TURNS, with_assistant


def test_a_stable_template_has_no_prefix_finding() -> None:
    report = inspect(STABLE)
    assert [finding.rule for finding in report.findings if finding.rule.startswith("TL10")] == []
    assert report.verdict.tito == "stable"


def test_tool_prefix_cuts_out_the_condition() -> None:
    source = with_assistant("{% if loop.last %}<think></think>{% endif %}")
    [finding] = check_rule("TL101", source)
    assert excerpt(source, finding) == "loop.last"
    assert (finding.place.line, finding.place.column, finding.place.end_column) == (3, 31, 40)
    cause = finding.evidence["cause"]
    assert (cause["source"], cause["proven"], cause["kind"]) == ("loop.last", True, "branch")
    assert (cause["outcome_earlier"], cause["outcome_later"]) == (True, False)
    assert finding.message.endswith("because `loop.last` on line 3 turns from true to false (24 of 24 cases)")
    assert finding.scenario == "one-call"


def test_tool_prefix_says_that_the_turn_of_the_user_is_rewritten_and_not_that_of_the_call() -> None:
    begin = "{%- if message.role == 'user' and messages[-1].role == 'tool' %}{{ tools | tojson }}{% endif %}"
    source = STABLE.replace("{%- if", begin + "{%- if", 1)
    [finding] = check_rule("TL101", source)
    assert finding.message.startswith("appending a tool result rewrites a turn before the call: '<|user|>When")
    [closer] = check_rule("TL101", with_assistant("{% if loop.last %}<think></think>{% endif %}"))
    assert closer.message.startswith("appending a tool result rewrites the turn before it: ")


def test_a_condition_is_one_finding_whether_it_must_change_alone_or_with_others() -> None:
    with_others = "{% if message.reasoning_content %}{% if not loop.nextitem %}C{% else %}D{% endif %}{% endif %}"
    source = with_assistant("{% if loop.last %}A{% else %}B{% endif %}" + with_others)
    [finding] = check_rule("TL101", source)
    assert excerpt(source, finding) == "loop.last"
    assert finding.message.endswith("turns from true to false (24 of 24 cases)")
    assert "call-with-reasoning" in finding.evidence["scenarios"]


def test_tool_prefix_names_the_inline_condition() -> None:
    source = with_assistant("{{ '<think></think>' if message is sameas messages[-1] }}")
    [finding] = check_rule("TL101", source)
    assert excerpt(source, finding) == "message is sameas messages[-1]"


def test_a_condition_that_is_asked_only_after_the_turn_does_not_turn() -> None:
    [finding] = [f for f in check_rule("TL101", SCANNED_RESULTS) if f.scenario == "call-with-content"]
    assert "because `all[k].role != 'tool'` on line 1 is asked more often after, and is false there" in finding.message
    assert "the condition on line 1 about later messages" in finding.remedy
    assert finding.evidence["cause"]["outcome_earlier"] is None


def test_tool_prefix_names_the_piece_that_only_the_last_turn_has() -> None:
    source = STABLE + "{% if not add_generation_prompt %}{{ eos_token }}{% endif %}"
    [finding] = check_rule("TL101", source)
    assert excerpt(source, finding) == "eos_token"
    assert finding.evidence["cause"]["kind"] == "output"
    assert finding.evidence["earlier"].endswith("<|end|></s>")


def test_an_empty_line_of_the_template_that_is_printed_is_named() -> None:
    source = STABLE.replace("{%- endfor %}\n{%- if add", "{%- endfor %}\n\n{% if add", 1)
    [finding] = check_rule("TL101", source)
    assert r"because '\n', printed by line 8, moves behind what is appended" in finding.message


def test_what_stands_behind_every_message_is_told_apart_from_what_only_one_render_prints() -> None:
    always = STABLE.replace("{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}", "{{- '<|bot|>' }}")
    for code in ("TL101", "TL104"):
        [finding] = check_rule(code, always)
        assert "because `'<|bot|>'`, printed by line 8, moves behind what is appended" in finding.message
        assert finding.remedy == (
            "Print what line 8 prints inside the turn it belongs to, or only with add_generation_prompt."
        )
    [finding] = check_rule("TL101", STABLE + "{% if not add_generation_prompt %}{{ eos_token }}{% endif %}")
    assert "because line 9 prints `eos_token` only before" in finding.message


def test_a_piece_that_both_renders_print_is_not_said_to_be_printed_by_one_only() -> None:
    hoisted = "{% for m in messages | selectattr('role', 'eq', 'system') %}{{ '\\n\\n' }}{{ m.content }}{% endfor %}"
    rest = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    [finding] = check_rule("TL105", hoisted + rest + "{% if add_generation_prompt %}<|assistant|>{% endif %}")
    # White space is printed too, and is not what it is about.
    assert "because line 1 prints `m.content` more often after" in finding.message


def test_a_condition_that_only_one_render_asks_turns_from_nothing() -> None:
    source = TURNS.replace(
        "{{ ASSISTANT }}",
        "{{ message.tool_calls | tojson }}{% for later in messages[loop.index:loop.index + 1] %}"
        "{% if later.role == 'tool' %}({{ later.name }}:{{ later.content }}){% endif %}{% endfor %}"
        "{{ message.content }}",
    )
    finding = next(f for f in check_rule("TL101", source) if f.scenario == "call-with-content")
    assert "because `later.role == 'tool'` on line 3 is asked more often after, and is true there" in finding.message


def test_causes_are_findings_and_scenarios_are_not() -> None:
    source = with_assistant("{% if loop.last %}<a>{% endif %}{% if not loop.nextitem %}<b>{% endif %}")
    findings = check_rule("TL101", source)
    assert len(findings) == 1
    assert len(findings[0].evidence["scenarios"]) > 10


def test_conversation_text_is_not_blamed() -> None:
    """Control tokens, end-of-text and template source in messages are the user's words."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "What do <|im_end|>, <|end|> and {% if loop.last %} mean?"},
        {
            "role": "assistant",
            "content": "<think></think></s>",
            "tool_calls": [
                {"id": "call00001", "type": "function", "function": {"name": "look_up", "arguments": {"q": "None"}}}
            ],
        },
        {"role": "tool", "tool_call_id": "call00001", "name": "look_up", "content": "None <|bot|>"},
        {"role": "assistant", "content": "<|im_end|> ends a turn."},
    ]
    own = Scenario("own", "", messages, None, {}, natural_cuts(messages), own=True)
    assert [f for f in inspect(STABLE, conversations=[own]).findings if f.rule.startswith("TL1")] == []


def test_own_conversations_are_asked() -> None:
    source = with_assistant("{% if message.content == 'Aye.' and loop.last %}<aye>{% endif %}")
    assert check_rule("TL101", source) == []
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Look it up."},
        {
            "role": "assistant",
            "content": "Aye.",
            "tool_calls": [{"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {}}}],
        },
        {"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "done"},
    ]
    own = Scenario("sailor", "", messages, None, {}, natural_cuts(messages), own=True)
    [finding] = check_rule("TL101", source, conversations=[own])
    assert finding.scenario == "sailor"
    assert excerpt(source, finding) == "message.content == 'Aye.' and loop.last"


def test_generation_prompt_prefix_in_one_thinking_mode_only() -> None:
    source = STABLE.replace(
        "{{ '<|bot|>' }}", "{{ '<|bot|>' }}{% if enable_thinking is false %}{{ '<think></think>' }}{% endif %}"
    )
    [finding] = check_rule("TL103", source)
    assert excerpt(source, finding) == "'<think></think>'"
    assert all(name.endswith("[enable_thinking=false]") for name in finding.evidence["scenarios"])


def test_a_prompt_that_the_reply_rewrites_is_not_cured_by_its_generation_prompt() -> None:
    source = STABLE.replace("message.content + '<|end|>'", "message.content + ('<|end|>' if loop.last else '<|next|>')")
    assert source != STABLE
    [finding] = check_rule("TL103", source)
    assert finding.message.startswith("appending the reply rewrites the prompt it answers: '<|end|>")
    assert finding.remedy.startswith(
        "Make the condition on line 5 independent of later messages: the model saw it true"
    )
    prompt = "{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}"
    [finding] = check_rule("TL103", STABLE.replace(prompt, "{{- '<|endoftext|>' }}"))
    assert "because `'<|endoftext|>'`, printed by line 8, moves behind what is appended" in finding.message
    assert finding.remedy.startswith("Print what line 8 prints inside the turn it belongs to")
    [finding] = check_rule("TL103", STABLE.replace("{{ '<|bot|>' }}{% endif %}", "{{ '<|bot|><think>' }}{% endif %}"))
    assert finding.remedy.startswith("Begin a finished turn with exactly the text of the generation prompt")


def test_user_turn_prefix_names_the_kwarg_that_prevents_it() -> None:
    source = with_assistant(
        "{% if message.reasoning_content and (keep_reasoning or loop.last or loop.nextitem.role == 'tool') %}"
        "<think>{{ message.reasoning_content }}</think>{% endif %}"
    )
    [finding] = check_rule("TL104", source)
    assert finding.evidence["prevented_by"] == {"keep_reasoning": True}
    assert "keep_reasoning=true prevents it" in finding.message
    assert inspect(source).verdict.tito == "stable-with-kwargs"


def test_user_turn_prefix_names_the_kwarg_without_which_nothing_breaks() -> None:
    """What prevents it may be a kwarg only where it breaks without one."""
    source = with_assistant(
        "{% set keep_reasoning = keep_reasoning is not defined or keep_reasoning %}{% set more = enable_thinking %}"
        "{% if message.reasoning_content and (keep_reasoning or loop.last or loop.nextitem.role == 'tool') %}"
        "<think>{{ message.reasoning_content }}</think>{% endif %}"
    )
    [finding] = check_rule("TL104", source)
    assert finding.message.endswith("; only with keep_reasoning=false")
    assert "prevented_by" not in finding.evidence


def test_system_turn_prefix_is_skipped_where_the_template_refuses() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}{% endfor %}"
    )
    assert skip_reason("TL105", source) == "no system scenario renders: TemplateError: no system"


def test_delta_depends_on_history_points_at_the_condition() -> None:
    source = STABLE.replace("{{- '<|' + message.role", "{{- '<round>' if loop.index > 4 }}{{- '<|' + message.role")
    [finding] = check_rule("TL106", source)
    assert excerpt(source, finding) == "loop.index > 4"
    cause = finding.evidence["cause"]
    assert (cause["outcome_earlier"], cause["outcome_later"], cause["proven"]) == (False, True, True)
    assert finding.evidence["delta_real"].startswith("<round><|tool|>")
    assert finding.evidence["delta_dummy"].startswith("<|tool|>")


def test_a_delta_that_depends_on_tools_says_so() -> None:
    source = STABLE.replace("message.content + '<|end|>'", "(message.content if tools else '') ~ '<|end|>'")
    [finding] = check_rule("TL106", source)
    assert finding.message.startswith("the delta of a tool result depends on tools=: without it the dummy has")
    assert "same tools=" in finding.remedy
    assert finding.severity is Severity.ERROR


def test_a_delta_that_depends_on_tools_on_request_only_is_a_warning() -> None:
    asked = "if tools or not no_thinking_with_tools else ''"
    source = STABLE.replace("message.content + '<|end|>'", f"(message.content {asked}) ~ '<|end|>'")
    [finding] = check_rule("TL106", source)
    assert finding.scenario is not None and "no_thinking_with_tools" in finding.scenario
    assert finding.severity is Severity.WARNING


def test_a_delta_that_holds_the_call_says_so() -> None:
    late = "for message in (messages[:-1] if messages[-1].tool_calls else messages)"
    source = STABLE.replace("for message in messages", late)
    assert source != STABLE
    [finding] = check_rule("TL106", source)
    assert "holds the call that it answers" in finding.message
    assert finding.remedy.startswith("Print each call in its own turn")


def test_delta_needs_identity() -> None:
    source = STABLE.replace("message.content + '<|end|>'", "message.content ~ (message.name or '') ~ '<|end|>'")
    [finding] = check_rule("TL107", source)
    assert finding.evidence["depends_on"] == ["name"]
    assert check_rule("TL107", STABLE) == []


def test_tool_rules_are_skipped_without_tools() -> None:
    source = "{% for m in messages %}{{ m.content }}{% endfor %}"
    assert skip_reason("TL101", source) == "the template knows no tools (TL200)"
    assert skip_reason("TL101", source, force_tools=True) is None


def test_token_rules_are_skipped_without_a_tokenizer() -> None:
    assert skip_reason("TL102", STABLE) == "no tokenizer; give --tokenizer TARGET"


def test_open_turn_tells_a_prompt_that_ends_where_the_reply_begins_from_one_that_changes_with_it() -> None:
    fits = (
        "{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else m.content }}{% endfor %}"
    )
    [finding] = check_rule("TL108", fits)
    assert finding.message.endswith("every prompt ends where the reply begins")
    [finding] = check_rule("TL108", fits.replace("' [/INST]'", "('<last>' if loop.last else ' [/INST]')"))
    assert finding.message == "add_generation_prompt has no effect, and the prompt changes with the reply (TL103)"
    assert finding.severity is Severity.INFO


def test_continue_final_message_of_a_template_that_prints_text_parts_only() -> None:
    parts = "{% for part in m.content %}{{ part.text }}{% endfor %}"
    source = "{% for m in messages %}<|{{ m.role }}|>" + parts + "<|end|>{% endfor %}"
    source += "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    assert check_rule("TL109", source) == []
    [finding] = check_rule("TL109", source.replace("<|{{ m.role }}|>", "<|{{ m.role }}|>{{ '<t>' if not loop.first }}"))
    assert "puts '<t>' between the generation prompt and the text" in finding.message
    silent = source.replace("{{ part.text }}", "")
    assert skip_reason("TL109", silent) == "a reply is not in the prompt (TL204)"


def test_places_in_a_template_of_one_line_are_expressions() -> None:
    source = (
        "{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.content | trim }}{{ '<|end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
    )
    [finding] = check_rule("TL109", source)
    assert "loses the space at the end" in finding.message
    assert excerpt(source, finding) == "m.content | trim"
    thinks = source.replace(
        "{{ m.content | trim }}", "{{ ('<think>' + m.reasoning_content) if m.reasoning_content }}{{ m.content }}"
    )
    thinks = thinks.replace("{{ '<|assistant|>' }}", "{{ '<|assistant|>' }}{{ '<think>' }}")
    [finding] = check_rule("TL103", thinks)
    assert finding.severity is Severity.INFO
    assert excerpt(thinks, finding) == "'<think>'"


def test_a_question_that_changes_with_a_reply_without_reasoning_is_not_called_a_generation_prompt() -> None:
    source = (
        "{% for m in messages %}<|{{ m.role }}|>"
        "{{ 'Think first. ' if m.role == 'user' and (loop.last or loop.nextitem.reasoning_content) }}"
        "{{ m.reasoning_content }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    [finding] = [f for f in check_rule("TL103", source) if f.severity is Severity.INFO]
    assert finding.message.startswith("the prompt does not fit a reply without reasoning: '<|user|>Think")


def test_continue_final_message_needs_the_generation_prompt_to_hold() -> None:
    source = STABLE.replace("{{ '<|bot|>' }}", "{{ '<|bot|><think>' }}")
    assert skip_reason("TL109", source) == "the generation prompt is no prefix of the finished turn (TL103)"


def test_a_template_that_quotes_the_conversation_to_a_judge_has_no_turns() -> None:
    source = "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}Is the last message safe? "
    for code in ("TL103", "TL104", "TL108"):
        assert "quoted for a judge: 'Is the last message safe? ' follows" in (skip_reason(code, source) or "")
    assert check_rule("TL104", source.replace("Is the last message safe? ", "Assistant: ")) != []


def test_a_judge_may_be_shown_text_parts_only() -> None:
    source = (
        "Is the {{ 'reply' if messages | length % 2 == 0 else 'question' }} safe? {% for m in messages %}{{ m.role }}: "
        "{% for part in m.content | selectattr('type', 'eq', 'text') %}{{ part.text }}{% endfor %}\n{% endfor %}"
        "Answer with yes or no, and nothing else."
    )
    for code in ("TL103", "TL104", "TL108"):
        assert "quoted for a judge: 'Answer with yes or no" in (skip_reason(code, source) or "")


def test_a_judge_may_be_asked_in_a_turn_of_its_own_after_a_mark() -> None:
    asks = (
        "Judge the last message of the conversation above by these criteria, and answer with yes or no, nothing else."
    )
    source = "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}<|end|><|user|>"
    ending = "Answer: {{ messages[-1].role }}.<|end|><|assistant|>"
    for code in ("TL103", "TL104", "TL108"):
        assert "quoted for a judge: 'Judge the last" in (skip_reason(code, source + asks + ending) or "")
    assert check_rule("TL104", source + ending) != []
