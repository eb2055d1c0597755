"""The library against real originals and tokenizers: every entry is proven, and transformers marks what we say."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from template_lint.patches import training_template
from template_lint.patches.index import Entry, read_source
from template_lint.patches.library import load_entries, original_facts, prove_entry
from template_lint.patches.matching import MatchedBy
from template_lint.patches.pair import sibling
from template_lint.patches.proof import Expectation, Status, prove
from template_lint.rendering.profiles import parse_profile
from template_lint.scenarios.catalogue import load_catalogue
from tests.inputs import corpus_dir, tokenizer_dir, trl_dir

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = {entry.name: entry for entry in load_entries()}
CONVERSATIONS = ("one-call", "two-rounds-reasoning", "parallel-calls", "after-user-turn", "chat")


@pytest.fixture(autouse=True)
def inputs() -> None:
    corpus_dir()
    trl_dir()


@pytest.mark.parametrize("version", ["4.57", "5.24"])
@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_is_proven_against_every_original(name: str, version: str) -> None:
    entry = ENTRIES[name]
    assert version in entry.transformers
    if entry.tokenizer:
        tokenizer_dir(entry.tokenizer)
    proofs = list(prove_entry(entry, read_source(name), parse_profile(version)))
    assert proofs
    for item in proofs:
        assert item.proof is not None, item.missing
        assert item.proof.problems == (), item.original
        if entry.tokenizer:
            assert item.proof.results["prefix-ids"].status is Status.HOLDS


def test_proofs_page_is_current() -> None:
    for name in {entry.tokenizer for entry in ENTRIES.values() if entry.tokenizer}:
        tokenizer_dir(name)
    script = [sys.executable, str(ROOT / "scripts" / "patch_proofs.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr


def read(name: str) -> str:
    return (corpus_dir() / f"{name}.jinja").read_text(encoding="utf-8")


ORIGINALS = {
    "qwen3": "Qwen-Qwen3-0.6B",
    "olmo-3": "allenai-Olmo-3-7B-Instruct",
    "llama-3.1": "meta-llama-Llama-3.1-8B-Instruct",
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_a_small_change_still_finds_the_training_template(name: str) -> None:
    original = read(ORIGINALS[name])
    commented = training_template(original + "{# #}", by_behaviour=False)
    assert commented is not None and (commented.name, commented.matched_by) == (name, MatchedBy.SOURCE)
    indented = training_template(original.replace("{%- for", "  {%- for", 1), by_behaviour=False)
    assert indented is not None and indented.name == name


@pytest.mark.parametrize("name", ORIGINALS)
def test_another_prompt_does_not(name: str) -> None:
    assert training_template(read(ORIGINALS[name]) + "!") is None


def test_a_rewritten_condition_is_found_by_proof() -> None:
    original = read("Qwen-Qwen3-0.6B")
    rewritten = original.replace('message.role == "user"', "message['role'] in ['user']")
    assert rewritten != original
    found = training_template(rewritten)
    assert found is not None and (found.name, found.matched_by) == ("qwen3", MatchedBy.BEHAVIOUR)


def trl_failures(name: str, version: str = "5.24") -> set[str]:
    """The laws that TRL's training template fails against TRL's copy of the original."""
    original = (trl_dir() / f"{name}.jinja").read_text(encoding="utf-8")
    training = (trl_dir() / f"{name}_training.jinja").read_text(encoding="utf-8")
    facts = original_facts(original, parse_profile(version))
    results = prove(facts, sibling(facts, training), expect=Expectation()).results
    return {law for law, result in results.items() if result.status is Status.FAILS}


def test_what_trls_training_templates_fail() -> None:
    """Facts about TRL 1.16.0 that its users meet; PROOFS.md has all of them."""
    assert trl_failures("qwen3") == {"mask", "mask-end"}
    assert trl_failures("qwen3_instruct_2507") == {"mask-end"}
    assert {"mask", "arguments"} <= trl_failures("qwen2_5")
    assert {"delta-history", "generation-prompt", "arguments"} <= trl_failures("deepseekv3")
    assert "prefix-user" in trl_failures("gptoss")
    assert "prefix-user" in trl_failures("glm4moe")
    assert {"prefix-tool", "prefix-user"} <= trl_failures("phi3")


@lru_cache(maxsize=1)
def real_tokenizer(name: str) -> Any:
    return AutoTokenizer.from_pretrained(tokenizer_dir(name))


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.tokenizer])
def test_transformers_marks_what_the_model_wrote(name: str) -> None:
    """Of ids and mask of the installed transformers, each turn's begins where the ids of its prompt end."""
    entry = ENTRIES[name]
    assert entry.tokenizer is not None
    tokenizer = real_tokenizer(entry.tokenizer)
    scenarios = [scenario for scenario in load_catalogue() if scenario.name in CONVERSATIONS]
    asked = sum(_turns_marked(tokenizer, entry, scenario) for scenario in scenarios)
    assert asked >= 2


def _turns_marked(tokenizer: Any, entry: Entry, scenario: Any) -> int:
    def encode(count: int, **options: Any) -> Any:
        return tokenizer.apply_chat_template(
            scenario.messages[:count],
            tools=scenario.tools,
            chat_template=read_source(entry.name),
            tokenize=True,
            return_dict=True,
            **{**entry.special_tokens, **entry.kwargs, **options},
        )

    try:
        whole = encode(len(scenario.messages), return_assistant_tokens_mask=True)
    except Exception:  # the family refuses such a conversation, as its original does
        return 0
    ids, mask = whole["input_ids"], whole["assistant_masks"]
    asked = 0
    for count, message in enumerate(scenario.messages):
        if message["role"] == "assistant":
            prompt = encode(count, add_generation_prompt=True)["input_ids"]
            if ids[: len(prompt)] == prompt:
                asked += 1
                assert mask[len(prompt) - 1] == 0
                assert mask[len(prompt)] == 1
    return asked
