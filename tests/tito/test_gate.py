"""The gate in front of a training run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from template_lint import gate
from template_lint.gating import GateError
from template_lint.patches import index, matching, training_template
from tests.tito import toy_models as toy
from tests.tito.toy_models import tokenizer


def get_tide(port: str) -> str:
    """Look up the tide.

    Args:
        port: name of the port
    """
    return port


@pytest.mark.parametrize("tools", [None, [], [toy.TOOL], [get_tide]])
def test_a_sound_template_passes(tools: Any) -> None:
    assert gate(tokenizer(toy.SOUND), tools=tools) is None


def test_the_finding_and_the_fix() -> None:
    with pytest.raises(GateError) as raised:
        gate(tokenizer(toy.THINKS_LAST), tools=[toy.TOOL])
    message = str(raised.value)
    assert message.startswith("buffer-after-tool [TL101]: appending a tool message rewrites")
    assert "Use a template that renders history the same whatever follows" in message
    assert [check.name for check in raised.value.checks] == ["buffer-after-tool"]


def test_the_tools_of_the_run_are_played() -> None:
    template = toy.SOUND.replace("{{ m.content or '' }}", "{{ m.content or '' }}{{ check(m) if m.name == 'get_tide' }}")
    assert gate(tokenizer(template)) is None
    with pytest.raises(GateError, match="TL205"):
        gate(tokenizer(template), tools=[toy.TOOL])


def test_tools_need_a_template_that_knows_them() -> None:
    assert gate(tokenizer(toy.REFUSES_TOOLS)) is None
    with pytest.raises(GateError, match="TL200"):
        gate(tokenizer(toy.REFUSES_TOOLS), tools=[toy.TOOL])


def test_user_turns_are_asked_about_on_request() -> None:
    assert gate(tokenizer(toy.THINKS_IF_NEW), tools=[toy.TOOL]) is None
    with pytest.raises(GateError, match="buffer-after-user"):
        gate(tokenizer(toy.THINKS_IF_NEW), tools=[toy.TOOL], user_turns=True)


def test_template_kwargs_of_the_run() -> None:
    template = toy.THINKS_LAST.replace("and loop.last", "and loop.last and not clear_thinking")
    with pytest.raises(GateError, match="Pass clear_thinking=True to apply_chat_template"):
        gate(tokenizer(template))
    assert gate(tokenizer(template), clear_thinking=True) is None


def test_no_template_and_a_broken_one() -> None:
    with pytest.raises(GateError, match="no chat template"):
        gate(tokenizer(None))  # type: ignore[arg-type]
    with pytest.raises(GateError, match="TL002"):
        gate(tokenizer("{% if %}"))
    with pytest.raises(GateError, match="TL205"):
        gate(tokenizer("{{ messages[0].nothing.at_all }}"))


def test_another_template_than_the_tokenizers_own() -> None:
    assert gate(tokenizer(toy.THINKS_LAST), chat_template=toy.SOUND) is None


def library(path: Path, original: str, patched: str) -> Path:
    entry = {
        "name": "toy",
        "family": "toy",
        "models": ["toy/toy"],
        "originals": [{"sha256": hashlib.sha256(original.encode()).hexdigest(), "source": "toy.jinja"}],
        "fixes": [{"kind": "prefix", "sentence": "It holds."}],
        "stable_roles": ["tool"],
        "transformers": ["5.24"],
    }
    (path / "index.yaml").write_text(json.dumps({"version": 1, "templates": [entry]}), "utf-8")
    (path / "toy_training.jinja").write_text(patched, "utf-8")
    return path


def test_a_training_template_is_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path, toy.THINKS_LAST, toy.SOUND)
    for module in (index, matching):
        monkeypatch.setattr(module, "library_folder", lambda: tmp_path)
    assert gate(tokenizer(toy.THINKS_LAST), tools=[toy.TOOL]) == toy.SOUND
    assert gate(tokenizer(toy.SOUND), tools=[toy.TOOL]) is None


def test_a_training_template_that_does_not_help_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library(tmp_path, toy.THINKS_LAST, toy.FIRST_RESULT_ONLY)
    for module in (index, matching):
        monkeypatch.setattr(module, "library_folder", lambda: tmp_path)
    with pytest.raises(GateError, match="does not help"):
        gate(tokenizer(toy.THINKS_LAST))


def test_the_library_of_the_project_has_nothing_for_a_toy() -> None:
    assert training_template(toy.SOUND) is None
