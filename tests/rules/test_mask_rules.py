"""TL4: what is marked against what the model writes, on small templates."""

from __future__ import annotations

from template_lint.model import Finding, Severity
from tests.rules.helper import check_rule, excerpt, skip_reason

TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'assistant' %}
ASSISTANT
{%- else %}
{{- '<|' + message.role + '|>' + message.content + '<|end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""
RIGHT = "{{- '<|assistant|>' }}{% generation %}{{ message.content + '<|end|>' }}{% endgeneration %}{{ '\\n' }}"
CODES = ("TL402", "TL403", "TL404")


def template(assistant: str) -> str:
    return TEMPLATE.replace("ASSISTANT", assistant)


def found(source: str, **options: str) -> list[Finding]:
    return [finding for code in CODES for finding in check_rule(code, source, **options)]


def test_a_right_mask_has_no_finding() -> None:
    assert found(template(RIGHT)) == []
    assert found(template(RIGHT), transformers="4.57") == []


def test_without_the_tag_one_rule_speaks() -> None:
    source = template("{{- '<|assistant|>' + message.content + '<|end|>\\n' }}")
    [finding] = check_rule("TL401", source)
    assert finding.severity is Severity.INFO
    assert all("TL401" in (skip_reason(code, source) or "") for code in CODES)


def test_a_header_inside_is_cut_out() -> None:
    source = template("{%- generation %}{{ '<|assistant|>' }}{{ message.content + '<|end|>' }}{% endgeneration %}")
    [finding] = found(source)
    assert finding.rule == "TL402"
    assert finding.message.startswith("'<|assistant|>', which the generation prompt prints, is marked")
    assert excerpt(source, finding) == "'<|assistant|>'"


def test_turns_in_which_other_text_is_marked_are_counted_apart() -> None:
    header = "{{ '<|assistant|>' + ('[thought]' if message.reasoning_content else '[plain]') }}"
    source = template("{%- generation %}" + header + "{{ message.content + '<|end|>' }}{% endgeneration %}")
    source = source.replace("{{ '<|assistant|>' }}{% endif", "{{ '<|assistant|>[thought]' }}{% endif")
    [finding] = found(source)
    said = "'<|assistant|>[thought]', which the generation prompt prints, is marked"
    assert finding.message == said + " (3 of 10 turns; other text in 7)"


def test_a_tag_of_the_model_that_begins_like_one_of_the_prompt_is_not_printed_by_the_prompt() -> None:
    """Behind a result the prompt opens a thought; a call comes instead: both begin with '<|'."""
    source = """\
{%- for m in messages %}
{%- if m.role == 'tool' %}{{ '<|result>' + m.content }}
{%- elif m.role == 'assistant' %}
{%- if not (loop.previtem and loop.previtem.role == 'tool') %}{{ '<|turn>model\\n' }}{% endif %}
{%- generation %}
{%- if THOUGHT %}{{ '<|thought>' + m.reasoning_content + '<thought|>' }}{% endif %}
{%- for c in m.tool_calls or [] %}{{ '<|call>' ~ c.function.name ~ c.function.arguments | tojson }}{% endfor %}
{{- m.content ~ ('<turn|>' if not m.tool_calls) }}{% endgeneration %}
{%- else %}{{ '<|turn>' + m.role + '\\n' + m.content + '<turn|>\\n' }}{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|thought>' if messages[-1].role == 'tool' else '<|turn>model\\n' }}{% endif %}
"""
    assert check_rule("TL402", source.replace("THOUGHT", "false")) == []
    [finding] = check_rule("TL402", source.replace("THOUGHT", "m.reasoning_content"))
    assert finding.message.startswith("'<|thought>', which the generation prompt prints, is marked (")
    assert "other text" not in finding.message


def test_the_first_token_of_the_model_outside() -> None:
    source = template(RIGHT.replace("'<|assistant|>' }}", "'<|assistant|>' }}{{ '\\n' }}", 1))
    [finding] = found(source)
    assert (finding.rule, finding.severity) == ("TL402", Severity.ERROR)
    assert finding.message.startswith("'\\n', with which the model begins, is not marked")
    assert finding.remedy.startswith("Leave the white space out")


def test_white_space_of_the_prompt_that_is_marked_is_not_left_out() -> None:
    source = template(RIGHT.replace("{{ message", "{{ '\\n' + message"))
    source = source.replace("{{ '<|assistant|>' }}{% endif", "{{ '<|assistant|>\\n' }}{% endif")
    [finding] = found(source)
    assert finding.message.startswith("'\\n', which the generation prompt prints, is marked")
    assert finding.remedy == "Put {% generation %} right behind what add_generation_prompt prints."


def test_a_thinking_block_that_the_prompt_gives_is_no_beginning() -> None:
    source = template(
        "{{- '<|assistant|>' }}{% generation %}{{ '<think></think>' }}{{ message.content + '<|end|>' }}"
        "{% endgeneration %}"
    ).replace("{{ '<|assistant|>' }}{% endif", "{{ '<|assistant|><think></think>' }}{% endif")
    [finding] = found(source)
    assert finding.message.startswith("'<think></think>', which the generation prompt prints, is marked")


def test_a_terminator_outside() -> None:
    source = template(
        "{{- '<|assistant|>' }}{% generation %}{{ message.content }}{% endgeneration %}{{ '<|end|>\\n' }}"
    )
    [finding] = found(source)
    assert (finding.rule, finding.severity) == ("TL403", Severity.ERROR)
    assert excerpt(source, finding) == "'<|end|>\\n'"
    assert finding.evidence["marked"][0] == finding.evidence["expected"].removesuffix("<|end|>")


def test_white_space_after_the_terminator_is_a_warning() -> None:
    source = template("{{- '<|assistant|>' }}{% generation %}{{ message.content + '<|end|>\\n' }}{% endgeneration %}")
    [finding] = found(source)
    assert (finding.rule, finding.severity) == ("TL403", Severity.WARNING)


def test_white_space_that_the_line_of_a_tag_makes_is_printed_after_the_tag() -> None:
    source = template(RIGHT.replace("{% endgeneration %}{{ '\\n' }}", "\n{% endgeneration %}"))
    [finding] = found(source)
    assert finding.message.startswith("'\\n' after the end of the turn is marked")
    assert finding.remedy.endswith("and print white space after the tag.")
    assert found(source.replace("\n{% endgeneration %}", "{% endgeneration %}{{ '\\n' }}")) == []


def test_a_second_mark_after_the_terminator_may_stay_outside() -> None:
    source = template(RIGHT.replace("{{ '\\n' }}", "{{ '<|endoftext|>' }}"))
    [finding] = found(source)
    assert (finding.rule, finding.severity) == ("TL403", Severity.WARNING)
    assert "'<|endoftext|>' follows the end of the turn" in finding.message


def test_a_call_outside() -> None:
    source = template(
        "{{- '<|assistant|>' }}{% generation %}{{ message.content or '' }}{% endgeneration %}"
        "{% for c in message.tool_calls or [] %}[{{ c.function.name }}{{ c.function.arguments|tojson }}]{% endfor %}"
        "{% generation %}{{ '<|end|>' }}{% endgeneration %}{{ '\\n' }}"
    )
    findings = check_rule("TL404", source)
    assert any("inside a call is not marked" in finding.message for finding in findings)
    assert all(finding.severity is Severity.ERROR for finding in findings)


def test_a_message_of_another_inside() -> None:
    source = template(
        "{{- '<|assistant|>' }}{% generation %}{{ message.content + '<|end|>' }}"
        "{{ '<|user|>' + loop.nextitem.content if loop.nextitem is defined else '' }}{% endgeneration %}"
    )
    assert any("which another wrote, is marked" in finding.message for finding in check_rule("TL404", source))


def test_an_earlier_turn_that_loses_its_mark() -> None:
    source = template(
        "{{- '<|assistant|>' }}{% if loop.last %}{% generation %}{{ message.content + '<|end|>' }}{% endgeneration %}"
        "{% else %}{{ message.content + '<|end|>' }}{% endif %}"
    )
    [finding] = found(source)
    assert "is not marked once another reply follows" in finding.message


def test_a_tag_in_a_block_that_collects_text_is_one_finding() -> None:
    inner = "{% generation %}{{ message.content + '<|end|>' }}{% endgeneration %}"
    collected = [
        template("{{- '<|assistant|>' }}{% set turn %}" + inner + "{% endset %}{{ turn }}"),
        template("{{- '<|assistant|>' }}{% filter trim %}" + inner + "{% endfilter %}"),
        "{% macro turn(message) %}" + inner + "{% endmacro %}" + template("{{- '<|assistant|>' + turn(message) }}"),
    ]
    for source in collected:
        [finding] = found(source)
        assert finding.rule == "TL404"
        assert excerpt(source, finding) == "generation"


def test_a_span_at_the_beginning_of_the_text_is_lost_under_4_57() -> None:
    """Under 4.57 the tracker records nothing before something was printed."""
    source = "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content + '<|end|>' }}"
    source += "{% endgeneration %}{% endif %}{% endfor %}"
    assert not any("nothing of a reply" in finding.message for finding in found(source))
    assert any("nothing of a reply" in finding.message for finding in found(source, transformers="4.57"))


def test_tools_that_are_not_shown_are_not_judged() -> None:
    assert found(template(RIGHT.replace("message.content +", "message.content ~"))) == []


PARTS = """\
{%- for message in messages %}
{%- for part in message.content|selectattr('type', 'equalto', 'text') %}
{{- '<|' + message.role + '|>' if loop.first }}
{%- if message.role == 'assistant' %}{% generation %}{{ part.text }}{% endgeneration %}
{%- else %}{{ part.text }}{% endif %}
{%- endfor %}{{ '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}
"""


def test_a_template_of_text_parts_is_asked_with_those() -> None:
    """It prints nothing of a text, and marks nothing of it: that is TL204's to report."""
    [finding] = found(PARTS)
    assert finding.message.startswith("'<|end|>', with which the turn ends, is not marked")
    assert finding.scenario == "after-plain-turn in text parts"
    right = PARTS.replace("{% endgeneration %}", "{{ '<|end|>' }}{% endgeneration %}")
    assert found(right.replace("{{ '<|end|>' }}\n", "{{ '<|end|>' if message.role != 'assistant' }}\n")) == []
    swallows = PARTS.replace(
        "{{ part.text }}{% endif %}", "{% generation %}{{ part.text }}{% endgeneration %}{% endif %}"
    )
    assert any("which another wrote, is marked" in finding.message for finding in found(swallows))


def test_a_reply_that_is_not_printed_at_all_is_no_question_of_the_mask() -> None:
    source = PARTS.replace("'equalto', 'text'", "'equalto', 'none'").replace("{{ '<|end|>' }}", "")
    assert all("none is printed" in (skip_reason(code, source) or "") for code in CODES)


def test_a_space_before_what_is_marked_is_a_warning() -> None:
    source = template(RIGHT.replace("'<|assistant|>' }}", "'<|assistant|> ' }}", 1))
    [finding] = found(source)
    assert (finding.rule, finding.severity) == ("TL402", Severity.WARNING)
    assert finding.message.startswith("' ', with which the model begins, is not marked")


def test_what_is_expected_begins_with_a_whole_tag() -> None:
    """The prompt ends with <think>, and this reply begins with <tool>: the "<t" that they share is no beginning."""
    source = template("{%- generation %}{{ '<|assistant|><tool>' + message.content + '<|end|>' }}{% endgeneration %}")
    source = source.replace("{{ '<|assistant|>' }}{% endif", "{{ '<|assistant|><think>' }}{% endif")
    [finding] = found(source)
    assert finding.message.startswith("'<|assistant|>', which the generation prompt prints, is marked")
    assert finding.evidence["expected"].startswith("<tool>")


def test_a_header_is_shown_whole_where_the_prompt_goes_on_otherwise() -> None:
    """The prompt ends with <think>, and this reply begins with neither a tag nor a thought."""
    source = template("{%- generation %}{{ '<|assistant|>' + message.content + '<|end|>' }}{% endgeneration %}")
    source = source.replace("{{ '<|assistant|>' }}{% endif", "{{ '<|assistant|><think>' }}{% endif")
    [finding] = found(source)
    assert finding.message.startswith("'<|assistant|>', which the generation prompt prints, is marked")
    assert not finding.evidence["expected"].startswith("<")
