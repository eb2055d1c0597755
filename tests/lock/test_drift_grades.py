"""How grave a change is, what it costs a run, and that nothing unknown is ever green. Small models, no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from template_lint.cli.diff import exit_code
from template_lint.lock.drift.model import Drift, DriftReport, Grade
from template_lint.lock.drift.run import compare
from template_lint.lock.drift.sides import Patch
from template_lint.model import Severity
from template_lint.patches.index import digest, read_source
from template_lint.scenarios.model import Scenario
from tests.lock.pairs import COMMITS, MODEL, TEMPLATE, drift, model, pair, replaced, template

LAST_ONLY = replaced("{{- '<|end|>' }}", "{{- '<|end|>' if not loop.last else '<|stop|>' }}")


def rules(found: Drift) -> list[str]:
    return [finding.rule for finding in found.findings]


def code(found: Drift, fail_on: str = "error") -> int:
    return exit_code(DriftReport((found,)), Severity(fail_on))


def test_the_same_commit_is_no_drift(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, MODEL, commits={"pinned": "a" * 40, "live": "a" * 40})
    assert found.grade is Grade.SAME
    assert (rules(found), found.advice, code(found, "info")) == ([], (), 0)


def test_another_commit_with_the_same_files_is_grade_0(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, {**MODEL, "README.md": "news"})
    assert found.grade is Grade.REVISION and found.grade.number == 0
    assert (rules(found), code(found), code(found, "info")) == (["TL601"], 0, 1)
    assert found.templates == ()  # nothing had to be rendered


def test_a_comment_in_the_template_is_grade_1(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, model("{#- news -#}\n" + TEMPLATE))
    assert found.grade is Grade.FILES and found.grade.number == 1
    assert (rules(found), code(found), code(found, "warning")) == (["TL602"], 0, 1)
    assert [change.path for change in found.files] == ["chat_template.jinja"]
    assert (template(found).source_added, template(found).source_removed) == (1, 0)
    assert "{#- news -#}" in "\n".join(template(found).source_diff)


def test_another_text_is_grade_2_with_the_first_difference(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, replaced("'<call>'", "'<call>\\n'"))
    assert found.grade is Grade.PROMPTS and found.grade.number == 2
    assert (rules(found), code(found)) == (["TL603"], 1)
    first = template(found).prompts.first
    assert first is not None and first.before is not None and first.after is not None
    assert (first.conversation, first.messages) == ("one-call", 2)
    at = first.excerpt_offset
    assert first.before[:at] == first.after[:at] and first.before[:at].endswith("<call>")
    assert first.before[at] == "{" and first.after[at] == "\n"


def test_conversations_that_do_not_show_the_change_are_not_counted(tmp_path: Path) -> None:
    found = template(drift(tmp_path, MODEL, replaced("'<call>'", "'<call>\\n'"))).prompts
    assert 0 < len(found.names) < found.conversations
    assert not any(name.startswith("chat") for name in found.names)
    assert all(kind == "text" for kind in found.names.values())


def test_a_lost_prefix_is_grade_3_and_says_what_was_lost(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, LAST_ONLY)
    assert found.grade is Grade.VERDICT and found.grade.number == 3
    assert (rules(found), code(found)) == (["TL604"], 1)
    assert (
        "the verdict was stable and is unstable: appending a tool result no longer keeps the prefix" in found.sentence
    )
    assert [finding.rule for finding in template(found).new if finding.severity is Severity.ERROR] == ["TL101"]
    [delta] = [aspect for aspect in template(found).aspects if aspect.name == "delta"]
    assert delta.status == "lost"
    assert found.advice[0].startswith("A run that has begun: do not resume it")
    assert COMMITS["pinned"] in found.advice[0]


def test_the_repair_of_a_lost_prefix_is_no_regression(tmp_path: Path) -> None:
    found = drift(tmp_path, LAST_ONLY, MODEL)
    assert found.grade is Grade.PROMPTS
    assert template(found).losses == ()
    assert template(found).gains == ("the verdict was unstable and is now stable",)
    assert [finding.rule for finding in template(found).fixed if finding.severity is Severity.ERROR] == ["TL101"]


def test_what_is_no_longer_in_the_prompt_is_lost(tmp_path: Path) -> None:
    without_tools = TEMPLATE.partition("\n")[2]
    found = drift(tmp_path, MODEL, model(without_tools))
    assert found.grade is Grade.VERDICT
    assert "no longer so: tool schemas are in the prompt" in template(found).losses


def test_a_change_that_shows_in_one_form_only_is_found(tmp_path: Path) -> None:
    """Arguments as a mapping read as before; the same as a JSON string no longer do."""
    strings = "{{- '<call>' + call.function | tojson + '</call>' }}"
    other = "{{- '<call>' + (call.function | tojson).replace('\\\\', '') + '</call>' }}"
    found = template(drift(tmp_path, MODEL, replaced(strings, other))).prompts
    assert "one-call/string-arguments" in found.names
    assert "one-call" not in found.names


def test_every_thinking_switch_of_either_side_is_compared(tmp_path: Path) -> None:
    switched = replaced(
        "{{- '<|assistant|>' }}", "{{- '<|assistant|>' + ('<no>' if enable_thinking is false else '') }}"
    )
    found = template(drift(tmp_path, MODEL, switched)).prompts
    assert found.names and all(name.endswith("[enable_thinking=false]") for name in found.names)


def test_a_conversation_that_only_raised_before_is_no_drift(tmp_path: Path) -> None:
    strict = replaced("(message.content or '')", "message.content")
    found = drift(tmp_path, strict, MODEL)
    assert found.grade is Grade.FILES
    assert template(found).prompts.names == {}
    assert "one-call/null-content" not in template(found).prompts.names
    assert "one-call/no-content" in template(found).prompts.gained


def test_a_conversation_that_raises_now_is_drift(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, replaced("(message.content or '')", "message.content + ''"))
    assert found.grade is Grade.VERDICT  # TL205 finds the crash
    first = template(found).prompts.first
    assert first is not None and first.kind == "error" and first.before_error is None
    assert first.after_error is not None and first.after_error.startswith("UndefinedError")


def test_the_users_own_conversations_are_compared(tmp_path: Path) -> None:
    only_here = replaced("(message.content or '')", "(message.content or '').replace('zebra', 'horse')")
    messages: list[dict[str, Any]] = [{"role": "user", "content": "a zebra"}]
    own = [Scenario("mine", "", messages, None, {}, [1], own=True)] * 2
    assert drift(tmp_path / "a", MODEL, only_here).grade is Grade.FILES
    found = drift(tmp_path / "b", MODEL, only_here, own)
    assert list(template(found).prompts.names) == ["mine", "mine#2"]


def test_a_second_template_on_one_side_is_drift(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, {**MODEL, "additional_chat_templates/tool_use.jinja": TEMPLATE})
    assert found.grade is Grade.PROMPTS
    assert found.unmatched == ("tool_use",)
    assert "only one side has the template tool_use" in found.sentence


def test_masks_and_ends_of_turns_are_told_apart(tmp_path: Path) -> None:
    marked = "{%- generation %}{{- (message.content or '') }}{%- endgeneration %}"
    old = "{{- '<|' + message.role + '|>' + (message.content or '') }}"
    found = drift(tmp_path, MODEL, replaced(old, "{{- '<|' + message.role + '|>' }}" + marked))
    status = {aspect.name: aspect.status for aspect in template(found).aspects}
    assert found.grade is Grade.FILES
    assert status == {"delta": "same", "generation prompt": "same", "end of turn": "same", "mask": "gained"}


def test_a_training_template_that_the_model_adopted_is_not_needed(tmp_path: Path) -> None:
    training = read_source("qwen3")
    before = training.replace("{%- generation %}", "{%- set closed = closed or loop.last %}{%- generation %}")
    patch = {"default": Patch("qwen3", digest(training))}
    found = drift(tmp_path, model(before), model(training), patches=patch)
    state = template(found).patch
    assert state is not None and state.status == "not-needed"
    assert "TL605" in rules(found)
    assert "With the new files leave the training template qwen3 out." in found.advice


def test_a_training_template_that_is_no_drop_in_any_more_is_broken(tmp_path: Path) -> None:
    patch = {"default": Patch("qwen3", None)}
    found = drift(tmp_path, MODEL, replaced("'<call>'", "'<call>\\n'"), patches=patch)
    state = template(found).patch
    assert state is not None and state.status == "broken"
    assert rules(found) == ["TL603", "TL605"]


def test_a_training_template_of_another_library_is_said_to_be_unknown(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, model("{#- n -#}" + TEMPLATE), patches={"default": Patch("no-such", None)})
    assert "TL605" in rules(found)
    assert "has no training template no-such" in found.findings[-1].message


@pytest.mark.parametrize(
    "bomb",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{{ 'x' * 10000000 }}",
        "{{ 9 ** (9 ** 9) }}",
    ],
    ids=["time", "output", "power"],
)
def test_a_template_that_has_to_be_stopped_is_never_green(bomb: str, tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, model(bomb + TEMPLATE))
    assert found.unchecked
    assert code(found, "error") in (1, 3)
    assert "Do not accept what was not compared" in " ".join(found.advice)


def test_a_template_that_does_not_compile_is_a_regression(tmp_path: Path) -> None:
    found = drift(tmp_path, MODEL, model("{% if %}"))
    assert found.grade is Grade.VERDICT
    assert found.sentence.startswith("the verdict was stable and is unrenderable")


def test_a_side_without_any_template_is_never_green(tmp_path: Path) -> None:
    nothing = {"tokenizer_config.json": "{}"}
    found = drift(tmp_path / "a", MODEL, nothing)
    assert found.grade is Grade.PROMPTS and code(found) == 1
    other = drift(tmp_path / "b", nothing, {"tokenizer_config.json": '{"x": 1}'})
    assert code(other) == 3 and "neither side has a chat template" in other.unchecked[0]


def test_one_broken_pair_does_not_hide_the_others(tmp_path: Path) -> None:
    pairs = [
        pair(tmp_path / "a", MODEL, model("{{ 'x' * 10000000 }}" + TEMPLATE)),
        pair(tmp_path / "b", MODEL, replaced("'<call>'", "'<call>\\n'")),
        pair(tmp_path / "c", MODEL, MODEL),
    ]
    report = compare(pairs, processes=2)
    assert bool(report.drifts[0].unchecked)
    assert [found.grade for found in report.drifts[1:]] == [Grade.PROMPTS, Grade.REVISION]


def test_findings_of_reformatted_lines_are_neither_new_nor_fixed(tmp_path: Path) -> None:
    old = "{{- '<|end|>' if not loop.last else '<|stop|>' }}"
    moved = LAST_ONLY["chat_template.jinja"].replace(old, "\n\n    {{- '<|end|>' if not  loop.last else '<|stop|>' }}")
    found = template(drift(tmp_path, LAST_ONLY, model(moved)))
    assert (found.new, found.fixed, found.losses) == ((), (), ())


def test_a_bos_token_that_changes_changes_prompts(tmp_path: Path) -> None:
    source = "{{- bos_token }}" + TEMPLATE
    config = [json.dumps({"bos_token": token}) for token in ("<s>", "<b>")]
    found = drift(
        tmp_path, model(source, tokenizer_config__json=config[0]), model(source, tokenizer_config__json=config[1])
    )
    assert found.grade is Grade.PROMPTS
    first = template(found).prompts.first
    assert first is not None and first.offset == 1
