"""Texts -> ids. What recurs between special tokens (a system prompt, tools, the prompt of a group) is encoded once.

The ids are those of ``Tokenization.encode`` of the whole text: it is cut only where ``cuts`` allows it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from sys import getsizeof
from typing import NamedTuple

from template_lint.audit.cuts import Cuts
from template_lint.audit.remembered import ENTRY_BYTES, Remembered
from template_lint.tokenization import Tokenization

_MOST_BYTES = 8 << 20


class CutText(NamedTuple):
    """A text in pieces between which it may be cut: ``known`` are likely to recur, ``rest`` is not."""

    known: tuple[str, ...]
    rest: str = ""


class Encoder:
    """Encodes for one tokenizer and remembers, within bounds, the ids of pieces."""

    def __init__(self, tokenization: Tokenization, cuts: Cuts) -> None:
        self._tokenization = tokenization
        self.cuts = cuts
        self._pieces: Remembered[str, array[int]] = Remembered(_MOST_BYTES)

    @property
    def remembered_bytes(self) -> int:
        """How much is remembered, about."""
        return self._pieces.weight

    def cut(self, text: str) -> CutText:
        """The text, to be encoded now and perhaps again."""
        return CutText(tuple(self.cuts.pieces(text)))

    def encode(self, text: str) -> list[int]:
        """Text -> ids, as ``Tokenization.encode`` gives them."""
        return self.encode_batch([self.cut(text)])[0]

    def encode_batch(self, texts: Sequence[CutText]) -> list[list[int]]:
        """The ids of every text, in order; what is not known yet is encoded in one batch."""
        ids: dict[str, list[int]] = {}
        new: list[str] = []
        for text in texts:
            for piece in text.known:
                if piece not in ids:
                    remembered = self._pieces.get(piece)
                    if remembered is None:
                        new.append(piece)
                    ids[piece] = [] if remembered is None else remembered.tolist()
        rests = [text.rest for text in texts if text.rest]
        encoded = self._tokenization.encode_batch([*new, *rests])
        for piece, made in zip(new, encoded, strict=False):
            ids[piece] = made
            compact = array("I", made)
            self._pieces.put(piece, compact, ENTRY_BYTES + getsizeof(piece) + getsizeof(compact))
        behind = iter(encoded[len(new) :])
        return [_joined([ids[piece] for piece in text.known], next(behind) if text.rest else []) for text in texts]


def _joined(parts: list[list[int]], last: list[int]) -> list[int]:
    if not parts:
        return last
    joined: list[int] = []
    for part in parts:
        joined += part
    joined += last
    return joined
