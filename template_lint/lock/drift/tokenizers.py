"""Two tokenizers compared by what they do, not by their bytes: added tokens, vocabulary, pipeline, settings, probes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from template_lint.facts.prefix import common_prefix_length
from template_lint.lock.drift.model import ProbeDifference, TokenizerChange, TokenizerDrift
from template_lint.lock.drift.probes import PROBES
from template_lint.lock.drift.prompts import token_difference
from template_lint.lock.drift.settings import setting_changes
from template_lint.lock.drift.vocabularies import merge_changes, vocabulary_changes

if TYPE_CHECKING:
    from template_lint.snapshot.model import Snapshot
    from template_lint.tokenization import Tokenization

MOST_EXAMPLES = 5
_MOST_TOUCHED = 20
_MOST_TOKEN_CHARACTERS = 400

_AROUND = 20
_CHILDREN = ("normalizers", "pretokenizers", "processors", "decoders")
_FLAGS = ("normalized", "lstrip", "rstrip", "single_word")
_PARTS = {
    "normalizer": "text is normalised in another way before it is split",
    "pre_tokenizer": "text is split into words in another way",
    "post_processor": "no prompt changes: chat prompts are encoded without added special tokens",
    "decoder": "ids become text in another way; ids do not change",
}


def compare_tokenizers(
    before: Tokenization, after: Tokenization, snapshots: tuple[Snapshot, Snapshot], *, cleans_up: bool
) -> TokenizerDrift:
    """Everything that differs, and on how many probe texts it shows.

    ``cleans_up`` says that the mirrored transformers honours ``clean_up_tokenization_spaces``.
    """
    changes = [
        *added_changes(before, after),
        *vocabulary_changes(before, after),
        *merge_changes(before, after),
        *pipeline_changes(before, after),
        *setting_changes(*snapshots, before.eos_ids, after.eos_ids, cleans_up=cleans_up),
    ]
    one, other = before.encode_batch(PROBES), after.encode_batch(PROBES)
    differing = [
        ProbeDifference(text, token_difference(a, b, before, after))
        for text, a, b in zip(PROBES, one, other, strict=True)
        if a != b
    ]
    same = [ids for ids, b in zip(one, other, strict=True) if ids == b]
    decoded = zip(before.decode_batch(same), after.decode_batch(same), strict=True)
    return TokenizerDrift(
        changes=tuple(changes),
        probes=len(PROBES),
        differ=len(differing),
        first=differing[0] if differing else None,
        touched=tuple(_touched(before, after)),
        decode_differs=sum(a != b for a, b in decoded),
    )


def added_changes(before: Tokenization, after: Tokenization) -> Iterator[TokenizerChange]:
    """Added tokens by their content: new, gone, under another id, special or not, matched otherwise."""
    one = {token["content"]: (token_id, token) for token_id, token in before.added_tokens().items()}
    other = {token["content"]: (token_id, token) for token_id, token in after.added_tokens().items()}
    new = [_example(text, after_id=other[text][0]) for text in other if text not in one]
    if new:
        size = f"{before.vocab_size:,} to {after.vocab_size:,} entries"
        meaning = "text that holds such a token becomes one id"
        if after.vocab_size > before.vocab_size:
            highest = max(example["after"] for example in new)
            meaning += f"; check that the model has a row for every id up to {highest} (the tokenizer grew from {size})"
        yield _change("added-token-new", "{n} added token{s} more", new, meaning)
    gone = [_example(text, before_id=one[text][0]) for text in one if text not in other]
    if gone:
        yield _change(
            "added-token-gone", "{n} added token{s} fewer", gone, "text that holds such a token is split into pieces"
        )
    both = [text for text in one if text in other]
    moved = [_example(text, one[text][0], other[text][0]) for text in both if one[text][0] != other[text][0]]
    if moved:
        meaning = "ids of the pin stand for other tokens: buffers, caches and checkpoints do not fit"
        yield _change("added-token-renumbered", "{n} added token{s} under another id", moved, meaning)
    for value, kind, word in (
        (True, "added-token-made-special", "made special"),
        (False, "added-token-made-plain", "no longer special"),
    ):
        found = [
            _example(text, one[text][0], other[text][0])
            for text in both
            if other[text][1]["special"] is value and one[text][1]["special"] is not value
        ]
        if found:
            does = "leaves it out" if value else "keeps it"
            meaning = f"decode(skip_special_tokens=True) now {does}; ids do not change"
            yield _change(kind, "{n} added token{s} " + word, found, meaning)
    flagged = [
        {**_example(text, one[text][0], other[text][0]), "flags": flags}
        for text in both
        if (flags := [flag for flag in _FLAGS if one[text][1][flag] != other[text][1][flag]])
    ]
    if flagged:
        meaning = "white space beside such a token, or a token inside a word, may be encoded otherwise"
        yield _change("added-token-flags", "{n} added token{s} matched otherwise", flagged, meaning)


def pipeline_changes(before: Tokenization, after: Tokenization) -> Iterator[TokenizerChange]:
    """Normaliser, pre-tokenizer, post-processor and decoder: another chain of steps, or another setting of a step."""
    one, other = before.pipeline(), after.pipeline()
    for part, meaning in _PARTS.items():
        if one[part] == other[part]:
            continue
        name = part.replace("_", "-")
        chains = chain(one[part]), chain(other[part])
        if chains[0] != chains[1]:
            sentence = f"the {name} was {chains[0]} and is {chains[1]}"
            yield TokenizerChange(name, sentence, 1, ({"before": chains[0], "after": chains[1]},), meaning)
            continue
        leaves = list(leaf_differences(one[part], other[part]))
        path, was, now = leaves[0]
        more = f", and {len(leaves) - 1} more settings" if len(leaves) > 1 else ""
        sentence = f"the {name} has another {path}: {was} became {now}{more}"
        examples = tuple({"setting": path, "before": was, "after": now} for path, was, now in leaves[:MOST_EXAMPLES])
        yield TokenizerChange(name, sentence, len(leaves), examples, meaning)


def chain(part: Mapping[str, Any] | None) -> str:
    """The steps of a part of the pipeline by name: ``Sequence(Split, ByteLevel)``."""
    if part is None:
        return "none"
    children = next((part[key] for key in _CHILDREN if key in part), None)
    return str(part["type"]) if children is None else f"{part['type']}({', '.join(map(chain, children))})"


def leaf_differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """The settings that differ between two pieces of JSON: their path, and both values around where they part."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            yield from leaf_differences(one.get(key), other.get(key), f"{path}.{key}" if path else key)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from leaf_differences(a, b, f"{path}.{index}")
    elif one != other:
        was, now = (json.dumps(value, ensure_ascii=False) for value in (one, other))
        at = max(0, common_prefix_length(was, now) - _AROUND)
        yield path, _window(was, at), _window(now, at)


def _window(text: str, start: int) -> str:
    end = start + 3 * _AROUND
    return ("..." if start else "") + text[start:end] + ("..." if len(text) > end else "")


def _touched(before: Tokenization, after: Tokenization) -> Iterator[ProbeDifference]:
    """The added tokens that changed, as texts of their own: what a user who writes one of them would get."""
    one = {token["content"]: (token_id, token) for token_id, token in before.added_tokens().items()}
    other = {token["content"]: (token_id, token) for token_id, token in after.added_tokens().items()}
    changed = [text for text in dict.fromkeys([*one, *other]) if one.get(text) != other.get(text)]
    for text in changed[:_MOST_TOUCHED]:
        if len(text) <= _MOST_TOKEN_CHARACTERS:
            a, b = before.encode(text), after.encode(text)
            if a != b:
                yield ProbeDifference(text, token_difference(a, b, before, after))


def _change(kind: str, sentence: str, examples: list[dict[str, Any]], meaning: str) -> TokenizerChange:
    words = sentence.replace("{n}", f"{len(examples):,}").replace("{s}", "" if len(examples) == 1 else "s")
    return TokenizerChange(kind, words, len(examples), tuple(examples[:MOST_EXAMPLES]), meaning)


def _example(text: str, before_id: int | None = None, after_id: int | None = None) -> dict[str, Any]:
    return {"token": text[:_MOST_TOKEN_CHARACTERS], "before": before_id, "after": after_id}
