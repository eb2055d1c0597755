"""special_tokens() against ``special_tokens_map`` of the installed transformers, on made-up configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import parse_target
from tests.snapshot.folders import added, model_folder, profile, tokenizer_json
from tests.snapshot.measure_tokenizer_classes import TABLE, measure

DECODER = {"added_tokens_decoder": {"1": {k: v for k, v in added("<s>", special=True).items() if k != "__type"}}}
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 3,
    "pad_type_id": 0,
    "pad_token": "<pad>",
}


def config(**settings: Any) -> dict[str, Any]:
    return {"tokenizer_config.json": settings}


CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "strings": config(bos_token="<s>", eos_token="</s>", cls_token="<c>", sep_token="<p>", mask_token="<m>"),
    "null and empty": config(bos_token=None, eos_token="", unk_token="<unk>"),
    "objects": config(bos_token=added("<s>"), eos_token=added("</s>", lstrip=True)),
    "object without type": config(bos_token={"content": "<s>"}),
    "number": config(bos_token=3),
    "additional": config(additional_special_tokens=["<a>", added("<b>")]),
    "additional empty": config(additional_special_tokens=[]),
    "additional null": config(additional_special_tokens=None),
    "additional of a wrong type": config(additional_special_tokens=["<a>", 3]),
    "extra object": config(extra_special_tokens={"image_token": "<i>", "boi_token": added("<b>"), "x": ""}),
    "extra list": config(extra_special_tokens=["<a>"]),
    "extra null": config(extra_special_tokens=None),
    "extra with a wrong type": config(extra_special_tokens={"image_token": 3}),
    "both": config(extra_special_tokens={"image_token": "<i>"}, additional_special_tokens=["<a>"]),
    "own tokens": config(image_token="<i>", boi_token=added("<b>"), add_bos_token=True, other="<o>"),
    "map is read": {"special_tokens_map.json": {"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": True}}},
    "map over config": {**config(bos_token="</s>", eos_token="</s>"), "special_tokens_map.json": {"bos_token": "<s>"}},
    "map with null": {**config(bos_token="</s>"), "special_tokens_map.json": {"bos_token": None}},
    "map not read with decoder": {**config(**DECODER), "special_tokens_map.json": {"bos_token": "<s>"}},
    "map with additional": {
        **config(additional_special_tokens=["<a>"]),
        "special_tokens_map.json": {"additional_special_tokens": ["<a>", "<b>", {"content": "<c>"}]},
    },
    "map with own tokens": {"special_tokens_map.json": {"image_token": "<i>", "boi_token": {"content": "<b>"}}},
    "map with extra": {"special_tokens_map.json": {"extra_special_tokens": {"image_token": "<i>"}}},
    "class defaults": config(tokenizer_class="GPT2Tokenizer", eos_token="</s>"),
    "class defaults, fast name": config(tokenizer_class="GPTNeoXTokenizerFast", pad_token=None),
    "class of the model type": {**config(tokenizer_class="LlamaTokenizer"), "config.json": {"model_type": "phi3"}},
    "class against a generic model type": {
        **config(tokenizer_class="GPT2Tokenizer"),
        "config.json": {"model_type": "glm4"},
    },
    "padding names the pad token": {"tokenizer.json": tokenizer_json(padding=PADDING)},
    "padding against null": {**config(pad_token=None), "tokenizer.json": tokenizer_json(padding=PADDING)},
}


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_those_of_transformers(case: str, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = model_folder(tmp_path, CASES[case])
    snapshot = load_snapshot(parse_target(str(folder)))
    try:
        expected = AutoTokenizer.from_pretrained(folder).special_tokens_map
    except (TypeError, AttributeError, AssertionError, ImportError):
        # ImportError: 4.57 looks for protobuf to tell one exception from another, and so hides the first.
        with pytest.raises(CannotCheckError, match="cannot load this tokenizer") as caught:
            special_tokens(snapshot, profile())
        assert caught.value.kind == "tokenizer-unloadable"
    else:
        assert special_tokens(snapshot, profile()) == expected


def test_versions_differ_where_they_should(tmp_path: Path) -> None:
    snapshot = load_snapshot(
        parse_target(str(model_folder(tmp_path, config(bos_token="", additional_special_tokens=["<a>"]))))
    )
    assert special_tokens(snapshot, (4, 57)) == {"additional_special_tokens": ["<a>"]}
    assert special_tokens(snapshot, (5, 24)) == {"bos_token": ""}


def test_a_file_without_tokenizer_has_no_tokens(tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    path.write_text("x")
    assert special_tokens(load_snapshot(parse_target(str(path))), (5, 24)) == {}


def test_the_table_of_classes_is_what_the_installed_version_shows() -> None:
    measured = measure()
    stated = json.loads(TABLE.read_text(encoding="utf-8"))[str(profile()[0])]
    if stated["version"] != measured["version"]:
        pytest.skip(f"measured on {stated['version']}, installed is {measured['version']}")
    # What optional packages of transformers add or take away is no difference in facts.
    for section in ("defaults", "model_types"):
        common = measured[section].keys() & stated[section].keys()
        assert len(common) > 50
        assert {name: measured[section][name] for name in common} == {name: stated[section][name] for name in common}
    for section in ("untrusted_model_types", "generic_repositories"):
        assert measured[section] == stated[section]
