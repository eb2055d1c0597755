"""Where a text may be cut so that its ids are the ids of its pieces, one after another.

A tokenizer looks for added tokens first, the longest at the leftmost place, and treats what lies between two of them by
itself. So a text may be cut before an added token c if c is found there whatever stands around it, and if nothing on
one side looks at the other:

- no other added token, nor a second c, can share a character with c: none contains it or is contained in it, and none
  begins as c ends or ends as c begins;
- c is looked for in the text as it is: it is not ``normalized``, or there is no normaliser;
- c does not look to the left (``lstrip``, ``single_word``), nor ends with a space that another token might strip;
- c begins with an ASCII punctuation mark (but for ``_``, which is part of a word), at which a token before it
  (``rstrip``, ``single_word``) stops as it does at the end of a text;
- special tokens are not taken for plain text, and the post-processor leaves the ids of one text as they are.

A piece behind a cut begins with an added token, so no text in it counts as the beginning of the whole (Metaspace's
``first``). ``tests/audit/test_cuts.py`` holds real tokenizers to this, and others that were made to break it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from string import punctuation
from typing import Any

from template_lint.tokenization import Tokenization

_MARKS = frozenset(punctuation) - {"_"}


class Cuts:
    """Cuts texts before the added tokens of ``candidates`` that allow it; before none where the tokenizer does not."""

    def __init__(self, tokenization: Tokenization, candidates: Iterable[int]) -> None:
        """``candidates``: token ids, of added tokens or not."""
        added = tokenization.added_tokens()
        pipeline = tokenization.pipeline()
        sound = not tokenization.splits_special_tokens and _is_neutral(pipeline["post_processor"])
        wanted = [added[token_id] for token_id in sorted(set(candidates)) if token_id in added]
        contents = [token["content"] for token in added.values()]
        as_it_is = _is_empty(pipeline["normalizer"])
        allowed = [
            token["content"]
            for token in wanted
            if sound and (as_it_is or not token["normalized"]) and _stands_alone(token, contents)
        ]
        self.tokens: list[str] = allowed
        by_content = {token["content"]: token_id for token_id, token in added.items()}
        self._ids = [by_content[content] for content in allowed]
        self._token = re.compile("|".join(map(re.escape, self.tokens))) if self.tokens else None

    def pieces(self, text: str) -> list[str]:
        """The text in pieces, none of them empty; the text itself where it is not cut."""
        if self._token is None or not text:
            return [text]
        starts = [0, *(match.start() for match in self._token.finditer(text)), len(text)]
        return [text[start:end] for start, end in pairwise(starts) if start < end]

    def count(self, text: str) -> int:
        """How many tokens before which it may be cut a text has."""
        return sum(map(text.count, self.tokens))

    def places(self, ids: list[int]) -> list[int]:
        """Where the ids of these tokens stand among ``ids``, ascending."""
        found: list[int] = []
        for token_id in self._ids:
            at = -1
            for _ in range(ids.count(token_id)):
                at = ids.index(token_id, at + 1)
                found.append(at)
        return sorted(found)


def _stands_alone(token: Mapping[str, Any], contents: Iterable[str]) -> bool:
    text = token["content"]
    if not text or token["lstrip"] or token["single_word"] or text[0] not in _MARKS or text[-1].isspace():
        return False
    return not any(_may_overlap(text, other) for other in contents)


def _may_overlap(text: str, other: str) -> bool:
    if not other:
        return False
    if text != other and (text in other or other in text):
        return True
    lengths = range(1, min(len(text), len(other)))
    return any(text[:length] == other[-length:] or text[-length:] == other[:length] for length in lengths)


def _is_empty(normalizer: Mapping[str, Any] | None) -> bool:
    return normalizer is None or (normalizer["type"] == "Sequence" and not normalizer["normalizers"])


def _is_neutral(post_processor: Mapping[str, Any] | None) -> bool:
    """Whether it leaves the ids of one text alone where no special tokens are to be added."""
    if post_processor is None:
        return True
    kind = post_processor["type"]
    if kind == "Sequence":
        return all(_is_neutral(part) for part in post_processor["processors"])
    if kind == "TemplateProcessing":
        return [part["Sequence"]["id"] for part in post_processor["single"] if "Sequence" in part] == ["A"]
    return kind in ("ByteLevel", "BertProcessing", "RobertaProcessing")
