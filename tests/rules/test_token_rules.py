"""TL3 on text: what ends a turn, what follows the end, BOS, balance of marks. Places and values on small templates."""

from __future__ import annotations

import pytest

from template_lint.model import Severity
from tests.rules.helper import check_rule, excerpt, skip_reason

CHAT = """\
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content }}{{ END }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""


def chat(end: str) -> str:
    """A template that prints the expression or statement ``end`` after each message."""
    return CHAT.replace("{{ END }}", end)


# TL301


def test_a_second_bos_is_where_it_is_printed() -> None:
    source = "{{ bos_token }}{% if messages %}{{ bos_token ~ '' }}{% endif %}" + chat("{{ eos_token }}")
    [finding] = check_rule("TL301", source, variables={"bos_token": "<s>", "eos_token": "</s>"})
    assert excerpt(source, finding) == "bos_token ~ ''"
    assert (finding.severity, finding.evidence["offset"]) == (Severity.ERROR, 3)


def test_a_bos_that_is_literal_is_known_by_its_name() -> None:
    source = "{{ '<|startoftext|>' }}{% for m in messages %}{{ '<|startoftext|>' + m.content }}{% endfor %}"
    [finding] = check_rule("TL301", source, variables={})
    assert finding.evidence["bos"] == "<|startoftext|>"
    assert check_rule("TL301", source.replace("startoftext", "timestamp"), variables={}) == []


def test_bos_before_every_turn_is_meant() -> None:
    source = "{% for m in messages %}{{ bos_token + m.role + ': ' + m.content + eos_token }}{% endfor %}"
    assert check_rule("TL301", source, variables={"bos_token": "<s>", "eos_token": "</s>"}) == []


def test_bos_after_the_system_message_alone_is_not() -> None:
    source = (
        "{% for m in messages %}{{ bos_token if loop.index0 < 2 and not (loop.first and m.role == 'user') else '' }}"
        "{{ m.role + ': ' + m.content + eos_token }}{% endfor %}"
    )
    [finding] = check_rule("TL301", "{{ bos_token }}" + source, variables={"bos_token": "<s>", "eos_token": "</s>"})
    assert "with a system message" in finding.message


def test_a_mark_that_is_bos_by_guess_only_is_not_judged() -> None:
    """A template alone gets <s> for bos_token; one that opens its turns with <s> may have another."""
    source = "{{ bos_token }}{% for m in messages %}{{ '<s>' + m.role + ': ' + m.content }}{% endfor %}"
    assert "nobody knows whether it is BOS" in (skip_reason("TL301", source, variables={"bos_token": "<s>"}) or "")
    [finding] = check_rule("TL301", source.replace("<s>", "STX"), variables={"bos_token": "STX"})
    assert finding.severity is Severity.ERROR


def test_users_may_write_bos() -> None:
    source = "{{ bos_token }}" + chat("{{ '<s><s>' }}")
    assert check_rule("TL301", source, variables={"bos_token": "<s>"}) == []


# TL304


def test_a_reply_without_an_end_is_shown_where_its_content_is_printed() -> None:
    source = "{% for m in messages %}{{ '### ' + m.role + ':' }}{{ m.content }}{{ '\\n' }}{% endfor %}"
    [finding] = check_rule("TL304", source)
    assert (excerpt(source, finding), finding.severity) == ("m.content", Severity.WARNING)


def test_an_eos_token_of_any_form_is_an_end() -> None:
    assert check_rule("TL304", chat("{{ eos_token }}"), variables={"eos_token": "STOP"}) == []


def test_a_reply_that_is_open_only_at_the_end_is_told_apart() -> None:
    [finding] = check_rule("TL304", chat("{{ '' if loop.last else '<|end|>' }}"))
    assert finding.message.startswith("a reply that comes last is left open: <|end|>")


def test_a_kwarg_that_closes_the_last_reply_is_named() -> None:
    for condition, kwarg in (
        ("loop.last and not is_training", "true"),
        ("loop.last and is_training is not false", "false"),
    ):
        [finding] = check_rule("TL304", chat("{{ '' if " + condition + " else '<|end|>' }}"))
        assert finding.severity is Severity.INFO
        assert finding.message.endswith(f"once another message follows, or with is_training={kwarg}")
        assert finding.remedy.startswith(f"Pass is_training={kwarg} ")
    [finding] = check_rule("TL304", chat("{{ unused }}{{ '' if loop.last else '<|end|>' }}"))
    assert finding.severity is Severity.WARNING


def test_a_last_reply_that_a_generation_prompt_closes_is_said_to_be() -> None:
    source = chat("{{ '' if loop.last and not add_generation_prompt else '<|end|>' }}")
    source = source.replace("- if add_generation_prompt %}", "- if false %}")
    [finding] = check_rule("TL304", source)
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("once another message follows, or with add_generation_prompt=true")
    assert finding.remedy.startswith("Write <|end|> after the last reply too")


def test_the_mark_of_the_next_users_turn_may_be_the_end() -> None:
    source = chat("").replace("'<|' + message.role + '|>'", "('<|user|>' if message.role == 'user' else '<|bot|>')")
    [finding] = check_rule("TL304", source)
    assert (excerpt(source, finding), finding.severity) == ("<|user|>", Severity.INFO)


def test_a_header_that_is_put_together_is_shown_where_it_is_printed() -> None:
    source = chat("").replace(
        "'<|' + message.role + '|>'", "'<|' + ('user' if message.role == 'user' else 'bot') + '|>'"
    )
    [finding] = check_rule("TL304", source)
    assert finding.severity is Severity.INFO
    assert "'<|' + " in excerpt(source, finding)


def test_an_end_of_turn_that_is_written_elsewhere_is_the_one_that_is_missing() -> None:
    source = chat("{{ '<|eot_id|>' if message.role == 'tool' }}")
    source = source.replace("'<|' + message.role + '|>'", "('<|user|>' if message.role == 'user' else '<|bot|>')")
    [finding] = check_rule("TL304", source)
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("elsewhere the template writes <|eot_id|>")
    assert finding.remedy.startswith("Write <|eot_id|>")


def test_plain_text_that_opens_a_turn_is_no_stop_id() -> None:
    source = (
        "{% for m in messages %}{{ '[INST] ' + m.content + ' [/INST]' if m.role == 'user' else m.content }}{% endfor %}"
    )
    [finding] = check_rule("TL304", source)
    assert finding.severity is Severity.WARNING


def test_a_mark_that_opens_every_turn_is_no_end() -> None:
    source = chat("").replace("'<|' + message.role + '|>'", "'<|turn|>' + message.role + ': '")
    [finding] = check_rule("TL304", source)
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "it has no turns"),
        (
            "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}Is this safe?",
            "this is no open conversation",
        ),
        ("{{ messages[0].content }}", "no finished reply renders"),
    ],
)
def test_what_is_no_conversation_is_not_judged(source: str, reason: str) -> None:
    assert reason in (skip_reason("TL304", source) or "")


# TL308


def test_a_mark_that_is_not_reset_is_found_in_the_second_round() -> None:
    source = """\
{%- set ns = namespace(first=true) %}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{{- '<results>' if ns.first else '' }}{{ m.content }}{{ '</results>' }}
{%- set ns.first = false %}
{%- else %}
{{- '<|' + m.role + '|>' }}{{ m.tool_calls | tojson if m.tool_calls else m.content }}{{ '<|end|>' }}
{%- endif %}
{%- endfor %}"""
    [finding] = check_rule("TL308", source)
    assert finding.message == "</results> closes what <results> has not opened (two-rounds)"
    assert excerpt(source, finding) == "'</results>'"
    assert "must be reset for every round" in finding.remedy


def test_a_closer_that_depends_on_null_content_is_found_under_the_profile_that_keeps_it() -> None:
    source = """\
{%- for m in messages %}
{{- '<|' + m.role + '|>' }}
{%- if m.tool_calls %}
{{- '<calls>' }}{{ m.tool_calls[0].function | tojson }}
{%- if m.content is not none or m.tool_calls | length > 1 %}{{ '</calls>' }}{% endif %}
{%- endif %}
{{- m.content or '' }}{{ '<|end|>' }}
{%- endfor %}"""
    assert check_rule("TL308", source, transformers="5.24") == []
    [finding] = check_rule("TL308", source, transformers="4.57")
    assert finding.message == "<calls> opens what </calls> never closes (one call with null content)"


@pytest.mark.parametrize(
    "source",
    [
        # A tag of the conversation.
        chat("{{ '<|end|>' }}").replace("message.content", "message.content + ''"),
        # The end-of-text token in place of the closer.
        "{% for m in messages %}{{ '<|turn_start|>' + m.role + ': ' + m.content }}"
        "{{ eos_token if m.role == 'assistant' else '<|turn_end|>' }}{% endfor %}",
        # Thinking blocks that are closed where there was no thinking.
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{{ '</think>' if m.role == 'assistant' }}"
        "{{ m.content + '<|im_end|>' }}{% if m.thinking %}<think>{% endif %}{% endfor %}",
    ],
)
def test_balanced_turns(source: str) -> None:
    assert check_rule("TL308", source) == []


def test_a_turn_that_each_call_opens_and_only_the_reply_closes_is_opened_again() -> None:
    source = (
        "{% for m in messages %}{{ '<|result>' + m.content + '<result|>' if m.role == 'tool' else '<|turn>' + m.role }}"
        "{% if m.role != 'tool' %}{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls[0] }}{% endif %}"
        "{{ '' if m.tool_calls else '<turn|>' }}{% endif %}{% endfor %}"
    )
    [finding] = check_rule("TL308", source)
    assert finding.message.startswith("<|turn> opens again what <turn|> has not closed")
    assert finding.remedy.startswith("Print <turn|> first")
    assert (
        excerpt(source, finding) == "'<|result>' + m.content + '<result|>' if m.role == 'tool' else '<|turn>' + m.role"
    )


# TL309


def test_white_space_after_the_end_is_glue() -> None:
    source = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>\\n\\n' }}{% endfor %}"
    [finding] = check_rule("TL309", source)
    assert finding.evidence == {"terminator": "<|end|>", "glue": "\n\n"}
    assert excerpt(source, finding) == "<|end|>"


def test_an_end_that_is_written_in_two_places_is_not_guessed_at() -> None:
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}{{ 'U:' + m.content + '<|end|>\\n' }}"
        "{% else %}{{ 'A:' + m.content + '<|end|>\\n' }}{% endif %}{% endfor %}"
    )
    [finding] = check_rule("TL309", source)
    assert finding.place is None


def test_no_white_space_is_no_finding() -> None:
    assert check_rule("TL309", chat("{{ '<|end|>' }}")) == []
    assert check_rule("TL309", chat("{{ '\\n' }}")) == []
