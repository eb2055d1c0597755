"""What changes of a tokenizer do, one by one, on the real tokenizer of Qwen3: ids of prompts and probes, and words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from template_lint.lock.drift.model import Drift, Grade, TokenizerDrift
from template_lint.lock.drift.run import compare
from template_lint.lock.drift.tokenizers import chain, leaf_differences
from tests.lock import qwen
from tests.lock.pairs import pair, template

Json = dict[str, Any]
NEW = {
    "id": 151669,
    "content": "<|plan|>",
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


def _token(tokenizer: Json, content: str) -> Json:
    found: Json = next(token for token in tokenizer["added_tokens"] if token["content"] == content)
    return found


def added(tokenizer: Json, config: Json) -> None:
    tokenizer["added_tokens"].append(NEW)


def added_word(tokenizer: Json, config: Json) -> None:
    tokenizer["added_tokens"].append({**NEW, "content": "water", "special": False})


def renumbered(tokenizer: Json, config: Json) -> None:
    """Two control tokens change places, in both files as a real exchange would have it."""
    one, other = _token(tokenizer, "<|im_end|>"), _token(tokenizer, "<|endoftext|>")
    one["content"], other["content"] = other["content"], one["content"]
    decoder = config["added_tokens_decoder"]
    decoder["151643"], decoder["151645"] = decoder["151645"], decoder["151643"]


def made_special(tokenizer: Json, config: Json) -> None:
    _token(tokenizer, "<tool_call>")["special"] = True
    config["added_tokens_decoder"]["151657"]["special"] = True


def made_plain(tokenizer: Json, config: Json) -> None:
    _token(tokenizer, "<|vision_pad|>")["special"] = False
    config["added_tokens_decoder"]["151654"]["special"] = False
    config["additional_special_tokens"].remove("<|vision_pad|>")


def normaliser(tokenizer: Json, config: Json) -> None:
    assert tokenizer["normalizer"] == {"type": "NFC"}
    tokenizer["normalizer"] = {"type": "NFKC"}


def pre_tokenizer(tokenizer: Json, config: Json) -> None:
    [split] = [part for part in tokenizer["pre_tokenizer"]["pretokenizers"] if part["type"] == "Split"]
    split["pattern"]["Regex"] = split["pattern"]["Regex"].replace("|\\s+(?!\\S)", "")


def clean_up(tokenizer: Json, config: Json) -> None:
    config["clean_up_tokenization_spaces"] = not config["clean_up_tokenization_spaces"]


def merges(tokenizer: Json, config: Json) -> None:
    tokenizer["model"]["merges"].remove(["Ġ", "t"])


def vocabulary(tokenizer: Json, config: Json) -> None:
    """Two words of the vocabulary change places."""
    words = tokenizer["model"]["vocab"]
    words["Ġwater"], words["Ġwind"] = words["Ġwind"], words["Ġwater"]


def rewritten(tokenizer: Json, config: Json) -> None:
    """Other bytes, the same tokenizer."""
    tokenizer["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}


CASES: dict[str, Callable[[Json, Json], None]] = {
    case.__name__: case
    for case in (
        added, added_word, renumbered, made_special, made_plain, normaliser, pre_tokenizer, clean_up, merges,
        vocabulary, rewritten,
    )
}  # fmt: skip


@pytest.fixture(scope="module")
def drifts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drift]:
    """Every case against the tokenizer as it is."""
    folder = tmp_path_factory.mktemp("tokenizers")
    pinned = qwen.files()
    pairs = []
    for name, change in CASES.items():
        tokenizer, config = json.loads(pinned["tokenizer.json"]), json.loads(pinned["tokenizer_config.json"])
        change(tokenizer, config)
        live = {**pinned, "tokenizer.json": json.dumps(tokenizer), "tokenizer_config.json": json.dumps(config)}
        pairs.append(pair(folder / name, pinned, live))
    return dict(zip(CASES, compare(pairs, processes=2).drifts, strict=True))


def of(found: Drift) -> TokenizerDrift:
    assert found.tokenizer is not None and found.tokenizer.skipped is None
    assert not found.unchecked
    return found.tokenizer


def kinds(found: Drift) -> list[str]:
    return [change.kind for change in of(found).changes]


def test_a_token_added_leaves_prompts_and_says_what_text_becomes_it(drifts: dict[str, Drift]) -> None:
    found = drifts["added"]
    assert (found.grade, kinds(found), of(found).differ) == (Grade.FILES, ["added-token-new"], 0)
    [change] = of(found).changes
    assert change.examples == ({"token": "<|plan|>", "before": None, "after": 151669},)
    assert "a row for every id up to 151669" in change.meaning
    [probe] = of(found).touched
    assert (probe.text, probe.token.before_text, probe.token.after_id) == ("<|plan|>", "<", 151669)
    assert any("have a row for every new id" in step for step in found.advice)


def test_an_added_token_that_is_a_word_changes_ids_of_prompts(drifts: dict[str, Drift]) -> None:
    found = drifts["added_word"]
    assert found.grade is Grade.PROMPTS
    prompts = template(found).prompts
    assert set(prompts.names.values()) == {"ids"}
    assert prompts.first is not None and prompts.first.token is not None
    token = prompts.first.token
    assert (token.before_text, token.after_text) == (" water", " ")
    assert (prompts.first.before or "")[prompts.first.excerpt_offset :].startswith(" water in a port.")


def test_renumbered_tokens_make_other_ids_and_void_what_is_stored(drifts: dict[str, Drift]) -> None:
    found = drifts["renumbered"]
    assert found.grade is Grade.PROMPTS
    assert "added-token-renumbered" in kinds(found)
    change = next(change for change in of(found).changes if change.kind == "added-token-renumbered")
    assert {example["token"] for example in change.examples} == {"<|im_end|>", "<|endoftext|>"}
    assert any(step.startswith("Stored buffers, caches and checkpoints") for step in found.advice)
    [delta] = [aspect for aspect in template(found).aspects if aspect.name == "delta"]
    assert (delta.status, delta.before, delta.after) == ("changed", "<|im_end|> (151645)", "<|im_end|> (151643)")


def test_a_token_made_special_changes_no_id_and_is_left_out_of_decoded_text(drifts: dict[str, Drift]) -> None:
    found = drifts["made_special"]
    assert (found.grade, kinds(found)) == (Grade.FILES, ["added-token-made-special"])
    assert "decode(skip_special_tokens=True) now leaves it out" in of(found).changes[0].meaning
    assert any(step.startswith("Decoded text may differ") for step in found.advice)


def test_a_token_no_longer_special_is_kept_in_decoded_text(drifts: dict[str, Drift]) -> None:
    found = drifts["made_plain"]
    assert found.grade is Grade.FILES
    assert "added-token-made-plain" in kinds(found)


def test_a_normaliser_shows_in_probe_texts_only(drifts: dict[str, Drift]) -> None:
    found = drifts["normaliser"]
    assert (found.grade, kinds(found)) == (Grade.PROMPTS, ["normalizer"])
    assert template(found).prompts.names == {}
    assert of(found).differ > 0
    assert "the normalizer was NFC and is NFKC" in of(found).changes[0].sentence
    assert "probe texts have other token ids; the 120 conversations do not show it" in found.sentence


def test_a_pre_tokenizer_is_told_by_the_setting_that_changed(drifts: dict[str, Drift]) -> None:
    found = drifts["pre_tokenizer"]
    assert kinds(found) == ["pre-tokenizer"]
    assert of(found).differ > 0 and found.grade is Grade.PROMPTS
    [change] = of(found).changes
    assert change.examples[0]["setting"] == "pretokenizers.0.pattern.Regex"
    assert "(?!" in change.examples[0]["before"] and "(?!" not in change.examples[0]["after"]


def test_clean_up_of_spaces_changes_no_id(drifts: dict[str, Drift]) -> None:
    found = drifts["clean_up"]
    assert (found.grade, kinds(found), of(found).differ) == (Grade.FILES, ["clean-up"], 0)
    assert "only transformers 4.x removes spaces before punctuation" in of(found).changes[0].meaning


def test_merges_change_ids(drifts: dict[str, Drift]) -> None:
    found = drifts["merges"]
    assert (found.grade, kinds(found)) == (Grade.PROMPTS, ["merges"])
    assert of(found).changes[0].sentence == "the merges changed: 0 new, 1 gone"
    assert template(found).prompts.names


def test_renumbered_words_are_found_in_the_vocabulary(drifts: dict[str, Drift]) -> None:
    found = drifts["vocabulary"]
    [change] = [change for change in of(found).changes if change.kind == "vocabulary-renumbered"]
    assert change.number == 2
    assert {example["token"] for example in change.examples} == {"Ġwater", "Ġwind"}
    assert found.grade is Grade.PROMPTS


def test_other_bytes_of_the_same_tokenizer_are_files_changed_and_nothing_else(drifts: dict[str, Drift]) -> None:
    found = drifts["rewritten"]
    assert (found.grade, kinds(found), of(found).differ, of(found).decode_differs) == (Grade.FILES, [], 0, 0)


def test_steps_of_a_pipeline_and_their_settings_are_named() -> None:
    steps = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "content": "a" * 100}]}
    other = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Replace", "content": "a" * 99 + "b"}]}
    assert chain(steps) == "Sequence(NFC, Replace)"
    assert chain(None) == "none"
    [(path, was, now)] = leaf_differences(steps, other)
    assert path == "normalizers.1.content"
    assert was != now and len(was) < 80
