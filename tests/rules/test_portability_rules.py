"""TL701 and TL702: what other versions and other engines do with the same template."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from template_lint.config import Options
from template_lint.engine import check
from template_lint.facts import TemplateFacts
from template_lint.facts.other_profile import other_profile, profile_differences
from template_lint.model import Finding, Severity
from template_lint.rendering.profiles import resolve_profile
from template_lint.rules.base import Skip
from template_lint.rules.tl7_portability.tl702_other_engine import OtherEngine
from tests.rules.helper import check_rule, excerpt, inspect

CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}{{ c.function|tojson }}{% endfor %}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_null_content_is_another_prompt_in_the_other_major_version() -> None:
    [finding] = check_rule("TL701", CHAT)
    assert finding.severity is Severity.WARNING
    assert "content null beside a call" in finding.evidence["differences"]
    assert finding.evidence["other"] == "4.57"
    assert "None" in finding.message and "4.57 prints" in finding.message
    [mirrored] = check_rule("TL701", CHAT, transformers="4.57")
    assert mirrored.evidence["other"] == "5.24"


@pytest.mark.parametrize("version", ["5.24", "4.57"])
def test_what_one_version_prints_more_is_shown_where_it_is_printed(version: str) -> None:
    source = CHAT.replace("{{ m.content }}", "\n{{ m.content }}\n").replace("{{ c.function", "\n{{ c.function")
    [finding] = check_rule("TL701", source, transformers=version)
    assert excerpt(source, finding) == "m.content"


def test_a_crash_on_one_side_points_at_its_line() -> None:
    source = CHAT.replace("{{ m.content }}", "\n{{ m.content.strip() if 'content' in m else '' }}")
    [finding] = check_rule("TL701", source)
    assert "raises UndefinedError" in finding.message and "under 4.57" in finding.message
    assert finding.place is not None and finding.place.line == 2


@pytest.mark.parametrize("version", ["5.24", "4.57"])
def test_a_crash_on_a_long_line_points_at_its_tag(version: str) -> None:
    source = (
        CHAT.replace("{{ m.content }}", "{{ m.content.strip() if 'content' in m else '' }}") + "{# " + "-" * 99 + " #}"
    )
    [finding] = check_rule("TL701", source, transformers=version)
    assert "under 4.57 for content null beside a call" in finding.message
    assert excerpt(source, finding) == "{{ m.content.strip() if 'content' in m else '' }}"


def test_what_differs_for_every_conversation_is_told_first() -> None:
    [finding] = check_rule(
        "TL701", CHAT.replace("m.content", "m.content or ''") + "{{ dict.from_keys([['a', 1]]) if tools }}"
    )
    assert "under 5.24 for a question with tools" in finding.message
    assert finding.remedy.startswith("Call dict(...)")


def test_only_conversations_that_differ_alike_are_said_to_differ_so() -> None:
    reasoning = "{% if m.thinking is string %}!{% endif %}{{ m.reasoning_content }}"
    source = CHAT.replace("{{ m.content }}", reasoning + "{{ m.content.strip() if 'content' in m }}")
    [finding] = check_rule("TL701", source)
    assert "under 4.57 for content null beside a call; they differ too for reasoning" in finding.message


@pytest.mark.parametrize(
    ("version", "printed", "speaker"),
    [("5.24", "{{ m.content.x or '' }}", "TL205"), ("4.57", "{{ m.content }}", "TL207")],
)
def test_what_the_mirrored_version_gets_wrong_is_the_same_defect(version: str, printed: str, speaker: str) -> None:
    """5.24 drops content that is null: a template that looks into it raises. 4.57 keeps it, and prints None."""
    source = CHAT.replace("{{ m.content }}", printed)
    [finding] = check_rule("TL701", source, transformers=version)
    stated = {defect for found in check_rule(speaker, source, transformers=version) for defect in found.defects}
    assert finding.defects and set(finding.defects) <= stated
    assert finding.brief.startswith("transformers 4.57 renders" if version == "5.24" else "transformers 5.24 prints")


def test_the_other_version_is_said_to_render_only_the_shape_that_it_renders() -> None:
    """Content that is absent raises in both versions: 'renders it' would say otherwise."""
    source = CHAT.replace("{{ m.content }}", "{{ m.content.x or '' }}")
    [mirrored] = check_rule("TL205", source)
    assert "on content null beside a call, on no content key beside a call" in mirrored.message
    [finding] = check_rule("TL701", source)
    assert finding.brief == "transformers 4.57 renders content null beside a call"
    [older] = check_rule("TL205", source, transformers="4.57")
    assert "no content key beside a call" in older.message and "content null" not in older.message


def test_what_only_the_other_version_gets_wrong_is_told_here_alone() -> None:
    [finding] = check_rule("TL701", CHAT)
    assert not set(finding.defects) & {
        defect for f in inspect(CHAT).findings if f.rule != "TL701" for defect in f.defects
    }
    crash = CHAT.replace("{{ m.content }}", "{{ m.content.strip() if 'content' in m }}")
    [finding] = check_rule("TL701", crash)
    assert "raises" in finding.message and finding.defects == []


def test_a_template_that_does_not_mind_is_the_same_in_both() -> None:
    assert check_rule("TL701", CHAT.replace("m.content", "m.content or ''")) == []
    assert check_rule("TL701", "{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}") == []


def test_reasoning_counts_under_the_names_that_the_template_reads() -> None:
    reads = "{% for m in messages %}{{ m.thinking or '' }}{{ m.content or '' }}{% endfor %}"
    assert check_rule("TL701", reads) == []
    other = "{% for m in messages %}{{ m.reasoning_content or m.reasoning or '' }}{{ m.thinking or '' }}{% endfor %}"
    [finding] = check_rule("TL701", other)
    assert any("reasoning under the key" in title for title in finding.evidence["differences"])


def test_differences_carry_both_outcomes() -> None:
    facts = TemplateFacts(CHAT, resolve_profile("5.24"))
    [difference] = profile_differences(facts, other_profile(facts.profile))
    assert difference.mirrored.text != difference.other.text
    assert "None" in (difference.other.text or "")


@pytest.mark.parametrize(
    ("source", "cut"),
    [
        ("{% generation %}x{% endgeneration %}", "generation"),
        ("{% if tools is iterable and tools|length > 0 %}x{% endif %}", "tools is iterable"),
        ("{% raw %}{{ x }}{% endraw %}", "{% raw %}"),
        ("{{ tools|map(attribute='function')|tojson if tools }}", "tojson"),
        ("{{ '<' | safe + messages[0].content }}", "safe"),
        ("{{ 'a' + (messages[0].content | safe if tools else 'b') }}", "messages[0].content | safe if tools else 'b'"),
        ("{{ dict.fromkeys(['a']) }}", "dict.fromkeys(['a'])"),
    ],
)
def test_causes_in_the_source(source: str, cut: str) -> None:
    findings = [finding for finding in check_rule("TL702", CHAT + source) if finding.severity is Severity.WARNING]
    assert len(findings) == 1
    assert excerpt(CHAT + source, findings[0]) == cut


@pytest.mark.parametrize(
    ("source", "remedy", "mended"),
    [
        (
            "{% if tools is iterable and tools|length > 0 %}x{% endif %}",
            "Ask for {% if tools %} instead.",
            "{% if tools %}x{% endif %}",
        ),
        (
            "{{ tools|map(attribute='type')|tojson if tools }}",
            "Write | list before | tojson.",
            "{{ tools|map(attribute='type')|list|tojson if tools }}",
        ),
        (
            "{{ ('<'|safe) + messages[0].content }}",
            "Leave | safe out, or join with ~.",
            "{{ ('<'|safe) ~ messages[0].content }}",
        ),
    ],
)
def test_the_remedy_is_what_both_engines_agree_on(source: str, remedy: str, mended: str) -> None:
    pytest.importorskip("minijinja")
    [finding] = check_rule("TL702", CHAT + source)
    assert finding.remedy == remedy
    assert compared(CHAT + mended) == []


@pytest.mark.parametrize(
    "source",
    [
        "{% generation %}x{% endgeneration %}",
        "{% if tools is iterable and tools|length > 0 %}x{% endif %}",
        "{{ dict.fromkeys(['a']) }}",
        "{{ messages|tojson(ensure_ascii=false) }}",
        "{{ messages|tojson(separators=(',', ':')) }}",
    ],
)
def test_minijinja_really_refuses_what_it_is_said_not_to_know(source: str) -> None:
    minijinja = pytest.importorskip("minijinja")
    assert any("minijinja" in finding.message for finding in check_rule("TL702", CHAT + source))
    with pytest.raises(minijinja.TemplateError):
        minijinja.Environment().render_str(source, messages=[], tools=None)


@pytest.mark.parametrize(
    "source",
    [
        "{% for m in messages %}{% break %}{% endfor %}",
        "{% for m in messages %}{% continue %}{% endfor %}",
        "{{ messages[0].content.split('a')[-1] }}",
        "{{ tools|tojson(ensure_ascii=false) }}",
    ],
)
def test_optional_parts_are_only_information(source: str) -> None:
    [finding] = check_rule("TL702", CHAT + source)
    assert finding.severity is Severity.INFO


@pytest.mark.parametrize(
    "source",
    [
        "{% if tools is not none and tools is iterable and tools|length > 0 %}x{% endif %}",
        "{% if tools and tools is iterable and tools|length > 0 %}x{% endif %}",
        "{% if messages[0].tool_calls is iterable and messages[0].tool_calls|length > 0 %}x{% endif %}",
        "{{ tools|tojson(indent=4) }}{{ tools|list|tojson }}",
        "{{ (messages[0].content | safe) }}{{ messages[-1].content }}{{ messages[0].content.split('a')[0] }}",
        "{% if tools %}{% set break = 1 %}{% endif %}",
        "{{ '<' ~ (messages[0].content | safe) ~ '>' }}",
    ],
)
def test_what_engines_agree_on(source: str) -> None:
    assert check_rule("TL702", CHAT + source) == []


def compared(source: str) -> list[Finding]:
    facts = TemplateFacts(source, resolve_profile("5.24"), compare_engines=True)
    assert facts.compile_error is None
    return list(OtherEngine().check(facts))


def test_minijinja_is_asked_only_where_the_rule_is_selected(tmp_path: Any) -> None:
    pytest.importorskip("minijinja")
    path = tmp_path / "chat_template.jinja"
    path.write_text(CHAT + "{{ messages[0].content|center(3) }}")
    options = Options(transformers="5.24", cache=False, jobs=1)

    def found(select: tuple[str, ...]) -> list[str]:
        findings = check([str(path)], options._replace(select=select)).findings
        return [finding.message for finding in findings if finding.rule == "TL702"]

    assert found(()) == []
    [message] = found(("TL7",))
    assert "minijinja does not render a question: unknown filter" in message


def test_minijinja_prints_something_else() -> None:
    pytest.importorskip("minijinja")
    [finding] = compared(CHAT + "{{ tools is iterable }}")
    assert finding.message.startswith("Jinja2 prints")
    assert compared(CHAT) == []


def test_minijinja_is_bounded() -> None:
    pytest.importorskip("minijinja")
    source = CHAT + "{% if not (messages is string) %}{% for i in range(99999) %}{% endfor %}{% endif %}" * 60
    [finding] = compared(source)
    assert "fuel" in finding.message


def test_without_minijinja_the_comparison_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minijinja", None)
    with pytest.raises(Skip, match="minijinja is not installed"):
        compared(CHAT)
    [finding] = compared(CHAT + "{% generation %}{% endgeneration %}")
    assert finding.severity is Severity.WARNING
