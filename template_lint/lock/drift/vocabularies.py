"""The vocabulary and the merges of two tokenizers, compared entry by entry; the settings of their models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from template_lint.lock.drift.model import TokenizerChange

if TYPE_CHECKING:
    from template_lint.tokenization import Tokenization

MOST_STATE_BYTES = 256 << 20
"""The largest model whose merges are compared, in bytes of JSON. The largest real one known has 30 MB."""

_MOST_EXAMPLES = 5


def vocabulary_changes(before: Tokenization, after: Tokenization) -> Iterator[TokenizerChange]:
    """Entries that are added tokens on neither side: new, gone, under another id."""
    added = {token["content"] for side in (before, after) for token in side.added_tokens().values()}
    one, other = (
        {text: token_id for text, token_id in side.vocabulary().items() if text not in added}
        for side in (before, after)
    )
    if one == other:
        return
    new = sorted((token_id, text) for text, token_id in other.items() if text not in one)
    gone = sorted((token_id, text) for text, token_id in one.items() if text not in other)
    moved = sorted((one[text], text) for text in one if text in other and one[text] != other[text])
    if new:
        meaning = f"the vocabulary has {len(other):,} entries, it had {len(one):,}"
        yield _change("vocabulary-new", "{n} vocabulary entr{y} more", new, {}, other, meaning)
    if gone:
        meaning = f"the vocabulary has {len(other):,} entries, it had {len(one):,}"
        yield _change("vocabulary-gone", "{n} vocabulary entr{y} fewer", gone, one, {}, meaning)
    if moved:
        meaning = "ids of the pin stand for other tokens: buffers, caches and checkpoints do not fit"
        yield _change("vocabulary-renumbered", "{n} vocabulary entr{y} under another id", moved, one, other, meaning)


def merge_changes(before: Tokenization, after: Tokenization) -> Iterator[TokenizerChange]:
    """Merges, and settings of the model such as ``ignore_merges``."""
    one, other = before.model_state(), after.model_state()
    if one == other:
        return
    if max(len(one), len(other)) > MOST_STATE_BYTES:
        sentence = f"the model of the tokenizer changed (over {MOST_STATE_BYTES >> 20} MiB, not looked into)"
        yield TokenizerChange("model", sentence, meaning="ids may change")
        return
    states = [json.loads(state) for state in (one, other)]
    merges = [[_merge(merge) for merge in state.pop("merges", None) or []] for state in states]
    for state in states:
        state.pop("vocab", None)
    for key in sorted(states[0].keys() | states[1].keys()):
        values = [json.dumps(state.get(key))[:60] for state in states]
        if states[0].get(key) != states[1].get(key):
            example = {"before": values[0], "after": values[1]}
            sentence = f"the setting {key} of the model changed from {values[0]} to {values[1]}"
            yield TokenizerChange("model", sentence, 1, (example,), "words may be split into other pieces")
    if merges[0] != merges[1]:
        new, gone = len(set(merges[1]) - set(merges[0])), len(set(merges[0]) - set(merges[1]))
        sentence = f"the merges changed: {new:,} new, {gone:,} gone" if new or gone else "the order of merges changed"
        yield TokenizerChange("merges", sentence, max(new + gone, 1), (), "words may be split into other pieces")


def _merge(merge: Any) -> str:
    return merge if isinstance(merge, str) else " ".join(map(str, merge))


def _change(
    kind: str,
    sentence: str,
    entries: list[tuple[int, str]],
    before: dict[str, int],
    after: dict[str, int],
    meaning: str,
) -> TokenizerChange:
    examples = tuple(
        {"token": text[:400], "before": before.get(text), "after": after.get(text)}
        for _, text in entries[:_MOST_EXAMPLES]
    )
    words = sentence.replace("{n}", f"{len(entries):,}").replace("{y}", "y" if len(entries) == 1 else "ies")
    return TokenizerChange(kind, words, len(entries), examples, meaning)
