"""The harness on small models: what passes, what fails and where, what is skipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError, TemplateSelectionError, UsageError
from template_lint.tito.evidence import Check, Status
from template_lint.tito.harness import run
from template_lint.tito.report import TemplateTito, as_json
from tests.tito import toy_models as toy


def examine(path: Path, template: str, *, eos: str = "<|end|>", **options: Any) -> TemplateTito:
    report = run(str(toy.folder(path, template, eos=eos)), **{"segmentations": 4, **options})
    (found,) = report.templates
    return found


def check(found: TemplateTito, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


def failed(found: TemplateTito) -> dict[str, str]:
    return {check.name: check.rule for check in found.checks if check.status is Status.FAIL}


def test_a_sound_template(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.SOUND)
    assert found.sound
    assert failed(found) == {}
    assert found.verdict.tito == "stable"
    assert found.appended == {"tool": "stable", "user": "stable", "system": "stable"}
    assert found.answer == "Yes: the buffer is exactly right after tool, user and system messages."
    assert found.played == found.conversations > 20
    skipped = {check.name: check.message for check in found.checks if check.status is Status.SKIPPED}
    assert skipped == {
        "mask-of-markers": "the template has no {% generation %} markers",
        "one-bos": "the template writes no BOS, and apply_chat_template adds none",
    }
    assert check(found, "stop-token").message == "inside the mask: <|end|> (265)"


def test_drift_and_ratios(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.SOUND, segmentations=16)
    drift, ratio = found.drift, found.ratio
    assert drift is not None and ratio is not None and drift.worst is not None
    assert drift.buffers == drift.clean + drift.realign + drift.fork > 100
    assert 0 < drift.drifted_tokens < drift.tokens
    assert drift.straddling == 0, "a special token stands between the model's text and the tool's"
    for example in (drift.worst, *drift.examples):
        assert "".join(example.sampled_texts) == "".join(example.reencoded_texts)
        assert example.sampled != example.reencoded
    assert ratio.tito_maximum_error == 0.0


def test_without_other_segmentations_nothing_drifts(tmp_path: Path) -> None:
    drift = examine(tmp_path, toy.SOUND, segmentations=0).drift
    assert drift is not None
    assert (drift.drifted_tokens, drift.clean) == (0, drift.buffers)


def test_tool_results_that_rewrite_history(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.THINKS_LAST)
    assert found.sound is False
    assert failed(found) == {"buffer-after-tool": "TL101"}
    assert found.appended["tool"] == found.verdict.tito == "unstable"
    assert found.answer == "No: the buffer will not be what the template renders (TL101)."
    evidence = check(found, "buffer-after-tool").evidence
    assert evidence["scenario"] == "one-call"
    assert evidence["earlier"]["text"] != evidence["later"]["text"]


def test_a_user_turn_that_drops_the_thinking_warns(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.THINKS_IF_NEW)
    assert found.sound
    assert found.verdict.tito == "breaks-on-user"
    assert check(found, "buffer-after-user").status is Status.WARN
    assert found.appended["tool"] == "stable"
    assert found.answer.endswith("a user message rewrites history.")


def test_a_prompt_that_no_finished_turn_begins_with(tmp_path: Path) -> None:
    """As in DeepSeek-R1: the prompt opens a thinking block, and history has none. The delta is right all the same."""
    found = examine(tmp_path, toy.SOUND.replace("'<|start|>assistant\n'", "'<|start|>assistant\n<think>'"))
    assert check(found, "finished-turns").rule == "TL103"
    assert check(found, "buffer-after-tool").status is Status.PASS
    assert check(found, "delta-from-dummy").status is Status.PASS
    assert check(found, "text-of-segmentations").status is Status.SKIPPED
    assert found.sound


def test_a_reply_in_the_other_form_still_counts(tmp_path: Path) -> None:
    """Played replies think, as the prompt asks; the prefix of a reply that does not is broken nonetheless."""
    template = toy.chatml(
        "{% if m.role == 'assistant' and (m.reasoning_content or loop.last) %}"
        "{{ '<think>' ~ (m.reasoning_content or '') ~ '</think>' }}{% endif %}{{ m.content or '' }}" + toy.CALLS,
        prompt="{% if add_generation_prompt %}{{ '<|start|>assistant\n<think>T' }}{% endif %}",
    )
    found = examine(tmp_path, template)
    assert found.verdict.tito == "unstable"
    failure = check(found, "buffer-after-tool")
    assert (failure.status, failure.rule) == (Status.FAIL, "TL101")


def test_a_delta_that_depends_on_the_round(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.FIRST_RESULT_ONLY)
    assert failed(found) == {"buffer-after-tool": "TL106", "delta-from-dummy": "TL106"}
    evidence = check(found, "delta-from-dummy").evidence
    assert (evidence["scenario"], evidence["delta"]) == ("two-rounds", 2)
    assert (evidence["dummy"]["text"], evidence["real"]["text"]) == ("R", "w")


def test_a_delta_that_needs_the_real_name(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.NAMES_RESULTS)
    assert found.sound
    warning = check(found, "placeholder-names")
    assert (warning.status, warning.rule) == (Status.WARN, "TL107")
    assert warning.evidence["depends_on"] == ["the tool's name"]
    assert "lookup_tide" in warning.evidence["delta"]


def test_role_tokens_that_stop_the_model(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.ROLE_TOKENS, eos="<|halt|>")
    assert found.sound
    stops = [toy.backend().token_to_id(token) for token in ("<|user|>", "<|tool|>", "<|system|>")]
    assert check(found, "stop-token").evidence["stop_ids"] == stops


@pytest.mark.parametrize(
    ("template", "failures"),
    [
        (toy.NOTHING_ENDS, {"stop-token": "TL304"}),
        (toy.MERGES_AT_BORDER, {"buffer-after-tool": "TL102"}),
        (toy.DROPS_RESULTS, {"buffer-after-tool": "TL202"}),
        (toy.MARKED_TOO_FAR, {"mask-of-markers": "TL403"}),
        (toy.TWO_BOS, {"one-bos": "TL301"}),
    ],
)
def test_what_fails(tmp_path: Path, template: str, failures: dict[str, str]) -> None:
    assert failed(examine(tmp_path, template)) == failures


def test_markers(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.MARKED)
    assert found.sound
    assert check(found, "mask-of-markers").status is Status.PASS


def test_a_template_without_tools(tmp_path: Path) -> None:
    found = examine(tmp_path, toy.NO_TOOLS)
    assert found.sound
    assert found.appended["tool"] == "no-tools"
    assert found.answer.endswith("the template knows no tools.")


def test_a_template_without_tools_that_breaks_on_user_turns_fails(tmp_path: Path) -> None:
    broken = toy.NO_TOOLS.replace("{{ m.content or '' }}", "{{ m.content }}{% if loop.last %}!{% endif %}")
    assert "buffer-after-user" in failed(examine(tmp_path, broken))


def test_nothing_renders(tmp_path: Path) -> None:
    found = examine(tmp_path, "{{ messages[0].nothing.at_all }}")
    assert found.sound is None
    assert found.answer.startswith("Not known: UndefinedError")


def test_syntax(tmp_path: Path) -> None:
    assert "does not compile: TemplateSyntaxError" in (examine(tmp_path, "{% if %}").problem or "")


@pytest.mark.parametrize("bomb", ["{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"])
def test_a_hostile_template_is_stopped(tmp_path: Path, bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from template_lint.rendering import limits

    monkeypatch.setattr(limits, "SOFT_SECONDS", 0.2)
    monkeypatch.setattr(limits, "TEMPLATE_SECONDS", 1.0)
    found = examine(tmp_path, bomb)
    assert found.sound is None
    assert "time limit" in (found.problem or "")


@pytest.mark.parametrize("template", [toy.SOUND, toy.THINKS_LAST, toy.FIRST_RESULT_ONLY, toy.MARKED, toy.REFUSES_TOOLS])
def test_both_engines_agree(tmp_path: Path, template: str) -> None:
    ours, theirs = (
        as_json(run(str(toy.folder(tmp_path, template)), engine=engine, segmentations=4))["templates"]
        for engine in ("mirror", "transformers")
    )
    assert ours == theirs


def test_the_seed_decides(tmp_path: Path) -> None:
    path = str(toy.folder(tmp_path, toy.SOUND))
    first, again, other = (json.dumps(as_json(run(path, seed=seed, segmentations=4))) for seed in (1, 1, 2))
    assert first == again
    assert json.loads(first)["templates"][0]["drift"] != json.loads(other)["templates"][0]["drift"]


def test_a_template_file_with_a_tokenizer(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    toy.folder(model, toy.THINKS_LAST)
    file = tmp_path / "mine.jinja"
    file.write_text(toy.SOUND, encoding="utf-8")
    assert run(str(file), tokenizer=str(model), segmentations=0).sound
    with pytest.raises(CannotCheckError, match="--tokenizer"):
        run(str(file))
    with pytest.raises(TemplateSelectionError):
        (model / "chat_template.jinja").unlink()
        run(str(model))


def test_chosen_conversations(tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    ask = {"role": "user", "content": "Tide?"}
    own.write_text(json.dumps({"name": "mine", "messages": [ask, {"role": "assistant", "content": "No."}]}), "utf-8")
    found = examine(tmp_path, toy.SOUND, conversations=(own,), scenarios=("mine", "two-rounds"))
    assert found.conversations == 2
    with pytest.raises(UsageError, match="no scenario 'nothing'"):
        examine(tmp_path, toy.SOUND, scenarios=("nothing",))


def test_wrong_options(tmp_path: Path) -> None:
    path = str(toy.folder(tmp_path, toy.SOUND))
    with pytest.raises(UsageError, match="--engine"):
        run(path, engine="minijinja")
    with pytest.raises(UsageError, match="installed version"):
        run(path, engine="transformers", transformers="5.1")
