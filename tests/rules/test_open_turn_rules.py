"""Where the reply begins: a turn that is open (TL108), a reply that is continued (TL109)."""

from __future__ import annotations

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, skip_reason
from tests.rules.turns import STABLE, with_assistant


def test_open_turn_after_a_tool_result() -> None:
    source = STABLE.replace("if add_generation_prompt", "if add_generation_prompt and messages[-1].role == 'user'")
    [finding] = check_rule("TL108", source)
    start = "after a tool result add_generation_prompt has no effect"
    assert finding.message == f"{start}: no turn is open, the finished one begins with '<|bot|>'"


def test_open_turn_after_a_result_whose_call_has_text_beside_it() -> None:
    """Results stand inside the turn of their call, before its text, which ends it."""
    results = "{% for m in messages if m.tool_call_id == c.id %}<r>{{ m.content }}</r>{% endfor %}"
    calls = "{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}" + results + "{% endfor %}"
    header = "{% if m.role == 'user' or loop.previtem.role != 'tool' %}<|{{ m.role }}|>{% endif %}"
    turn = header + calls + "{% if m.content %}{{ m.content }}<|end|>{% endif %}"
    source = "{% for m in messages %}{% if m.role != 'tool' %}" + turn + "{% endif %}{% endfor %}"
    source += "{% if add_generation_prompt and messages[-1].role != 'tool' %}<|assistant|>{% endif %}"
    finding, info = check_rule("TL108", source)
    assert finding.message == (
        "after a tool result whose call has text beside it no turn is open: the prompt ends with '<|end|>', and the "
        "reply follows without a header"
    )
    assert excerpt(source, finding) == "<|end|>"
    assert finding.severity is Severity.WARNING
    assert info.message.startswith("the generation prompt after a tool result is ''")
    stays_open = source.replace("{{ m.content }}<|end|>", "{{ m.content }}{{ '<|end|>' if not m.tool_calls }}")
    assert [found.severity for found in check_rule("TL108", stays_open)] == [Severity.INFO]
    header_again = source.replace("loop.previtem.role != 'tool'", "true").replace(
        "and messages[-1].role != 'tool' ", ""
    )
    assert check_rule("TL108", header_again) == []


def test_continue_final_message_raises_where_the_end_of_the_reply_is_cut_off() -> None:
    [finding] = check_rule("TL109", STABLE.replace("{{ message.content or '' }}", "{{ message.content[:15] }}"))
    assert finding.message.startswith("continue_final_message raises ValueError")


def test_the_newline_that_jinja_drops_at_the_end_of_the_file_is_named() -> None:
    turns = "{%- for m in messages -%}\n<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor -%}\n"
    [finding] = check_rule("TL109", turns + "<|turn|>assistant\n")
    assert finding.message.endswith(": Jinja drops the newline at the end of the file")
    assert finding.severity is Severity.INFO
    [other] = check_rule("TL109", turns + "{{ '<|turn|>assistant' }}\n")
    assert "Jinja" not in other.message, "the newline there belongs to no text of the prompt"
    assert check_rule("TL109", turns + "<|turn|>assistant\n\n") == []


def test_a_header_that_the_model_writes_itself_is_an_info() -> None:
    source = with_assistant("<|channel|>final<|message|>")
    [finding] = check_rule("TL109", source)
    assert finding.severity is Severity.INFO
    assert finding.message == (
        "continuing 'High water is' puts '<|channel|>final<|message|>' between the generation prompt and the text"
    )
    assert excerpt(source, finding) == "<|channel|>final<|message|>"
    [finding] = check_rule("TL109", with_assistant("<think></think>"))
    assert finding.severity is Severity.WARNING


def test_where_the_generation_prompt_opens_nothing_continuing_is_not_judged() -> None:
    never = STABLE.replace("{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}", "")
    assert skip_reason("TL109", never) == "add_generation_prompt opens no turn (TL108)"


def test_open_turn_says_one_thing_once() -> None:
    """What is wrong after a user message and after a tool result is one finding, at the piece that is to blame."""
    source = STABLE.replace("{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}", "{{ '<|bot|>' }}")
    assert source != STABLE
    [finding] = check_rule("TL108", source)
    assert finding.message == "'<|bot|>' is printed at the end although add_generation_prompt is off"
    assert excerpt(source, finding) == "'<|bot|>'"
    assert finding.place is not None
    assert finding.place.line == source.count("\n")

    never = STABLE.replace("{%- if add_generation_prompt %}{{ '<|bot|>' }}{% endif %}", "")
    [finding] = check_rule("TL108", never)
    assert finding.message.startswith(
        "after a user message and after a tool result add_generation_prompt has no effect"
    )
