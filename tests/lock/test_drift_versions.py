"""One template under two versions of transformers: which conversations differ, and which change of behaviour did it."""

from __future__ import annotations

from pathlib import Path

import pytest

from template_lint.config import Options
from template_lint.lock.drift.model import Drift, Grade
from template_lint.lock.drift.run import compare
from template_lint.lock.drift.sides import pair_of_versions
from template_lint.rendering.profiles import parse_profile
from tests.inputs import corpus_dir
from tests.lock.pairs import TEMPLATE, template, versions

NULL_FORMS = {"null-content", "null-tool-calls"}
KEY_FORMS = {"reasoning-key", "thinking-key"}


def forms(found: Drift) -> set[str]:
    return {name.partition("/")[2].partition("[")[0] for name in template(found).prompts.names}


def test_a_template_that_reads_the_same_is_no_drift(tmp_path: Path) -> None:
    found = versions(TEMPLATE, tmp_path)
    assert found.grade is Grade.SAME
    assert found.findings == () and found.advice == ()
    assert found.sentence == "all 120 conversations read the same under transformers 4.57 and transformers 5.24"


def test_none_that_is_printed_is_dropped_from_5_24_on(tmp_path: Path) -> None:
    found = versions(
        TEMPLATE.replace(
            "(message.content or '')", "('' if message.content is undefined else message.content | string)"
        ),
        tmp_path,
    )
    assert forms(found) == {"null-content"}
    [reason] = template(found).prompts.causes
    assert reason == "from 5.24 on, message keys whose value is None are dropped before the template sees them"
    first = template(found).prompts.first
    assert first is not None and (first.before or "")[first.excerpt_offset :].startswith("None")
    assert found.advice[-1].startswith("Both versions read the same if you leave keys out of messages")


def test_a_reasoning_key_is_read_from_5_21_on(tmp_path: Path) -> None:
    source = TEMPLATE.replace("(message.content or '')", "(message.reasoning_content or '') + (message.content or '')")
    found = versions(source, tmp_path)
    assert forms(found) == KEY_FORMS
    [reason] = template(found).prompts.causes
    assert reason.startswith("from 5.21 on, reasoning is handed over as reasoning_content and thinking")
    assert found.advice[-1] == "Both versions read the same if you pass reasoning as reasoning_content."
    assert versions(source, tmp_path, "5.20", "5.21").grade is Grade.PROMPTS
    assert versions(source, tmp_path, "5.21", "5.24").grade is Grade.SAME


def test_the_order_of_versions_does_not_change_the_reason(tmp_path: Path) -> None:
    source = TEMPLATE.replace("(message.content or '')", "(message.reasoning_content or '') + (message.content or '')")
    there, back = versions(source, tmp_path), versions(source, tmp_path, "5.24", "4.57")
    assert template(there).prompts.causes == template(back).prompts.causes
    assert (back.before.word, back.after.word) == ("5.24", "4.57")


def test_a_conversation_that_renders_under_one_version_only_is_a_difference(tmp_path: Path) -> None:
    """None plus text raises under 4.57; under 5.24 the key is gone, and its default is printed."""
    source = TEMPLATE.replace("(message.content or '')", "(message.content if message.content is defined else '')")
    found = versions(source, tmp_path)
    assert "one-call/null-content" in template(found).prompts.gained
    assert template(found).prompts.names["one-call/null-content"] == "error"
    first = template(found).prompts.first
    assert first is not None and (first.before_error or "").startswith("TypeError") and first.after_error is None


@pytest.mark.parametrize(
    "name",
    ["Qwen-Qwen3-0.6B", "Qwen-Qwen3-4B-Thinking-2507", "PrimeIntellect-INTELLECT-3", "utter-project-TowerVision-2B"],
)
def test_templates_of_the_corpus(name: str) -> None:
    """Only forms with None or another reasoning key may differ, and each has its reason."""
    path = corpus_dir() / f"{name}.jinja"
    profiles = parse_profile("4.57"), parse_profile("5.24")
    [found] = compare([pair_of_versions(str(path), profiles, Options())]).drifts
    assert forms(found) <= NULL_FORMS | KEY_FORMS
    reasons = template(found).prompts.causes
    explained = {conversation for conversations in reasons.values() for conversation in conversations}
    assert explained == set(template(found).prompts.names)
