"""What tokenizer_config.json and generation_config.json say beside the tokenizer itself, compared key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from template_lint.lock.drift.model import TokenizerChange

if TYPE_CHECKING:
    from template_lint.snapshot.model import Snapshot

_ELSEWHERE = frozenset({"chat_template", "added_tokens_decoder"})
"""Keys whose effect is compared in the templates and in the tokenizers themselves."""

_MEANINGS = {
    "tokenizer_class": "transformers may build another pipeline",
    "split_special_tokens": "whether control tokens in a text become one id",
    "add_prefix_space": "whether a text gets a space in front",
    "legacy": "how white space after a special token is encoded",
}
_QUIET = frozenset({"model_max_length", "padding_side", "truncation_side", "processor_class", "auto_map"})
_MOST_CHARACTERS = 80


def setting_changes(
    before: Snapshot,
    after: Snapshot,
    before_stops: tuple[int, ...],
    after_stops: tuple[int, ...],
    *,
    cleans_up: bool,
) -> Iterator[TokenizerChange]:
    """One change per key of tokenizer_config.json, and one for the ids at which generation stops."""
    for key in sorted(before.config.keys() | after.config.keys()):
        one, other = before.config.get(key), after.config.get(key)
        if key in _ELSEWHERE or one == other:
            continue
        example = {"key": key, "before": _short(one), "after": _short(other)}
        sentence = f"{key} changed from {example['before']} to {example['after']}"
        if key == "clean_up_tokenization_spaces":
            who = "the mirrored transformers" if cleans_up else "only transformers 4.x"
            meaning = f"no id changes; {who} removes spaces before punctuation when it decodes with this on"
            yield TokenizerChange("clean-up", sentence, 1, (example,), meaning)
        elif key.endswith("_token"):
            meaning = "templates that print it, and what stops or pads a generation, follow"
            yield TokenizerChange("special-token", sentence, 1, (example,), meaning)
        else:
            meaning = _MEANINGS.get(key, "" if key in _QUIET else "prompts were compared with it")
            yield TokenizerChange("setting", sentence, 1, (example,), meaning)
    if before_stops != after_stops:
        stops: dict[str, Any] = {"key": "stop ids", "before": list(before_stops), "after": list(after_stops)}
        sentence = f"generation stops at {_ids(after_stops)}, it stopped at {_ids(before_stops)}"
        yield TokenizerChange("stop-ids", sentence, 1, (stops,), "sampled turns end at other places")


def _short(value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        value = value["content"]
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 3] + "..."


def _ids(ids: tuple[int, ...]) -> str:
    return ", ".join(map(str, ids)) if ids else "no id"
