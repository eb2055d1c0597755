"""Texts -> ids. What recurs between special tokens (a system prompt, tools, the prompt of a group) is encoded once.

The ids are those of ``Tokenization.encode`` of the whole text: it is cut only where ``cuts`` allows it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from sys import getsizeof
from typing import NamedTuple

from template_lint.audit.cuts import Cuts
from template_lint.audit.remembered import ENTRY_BYTES, Remembered
from template_lint.tokenization import Tokenization

_MOST_BYTES = 8 << 20


class CutText(NamedTuple):
    """A text in pieces between which it may be cut: ``known`` may recur, ``rest`` is not expected to."""

    known: tuple[str, ...]
    rest: str = ""


class Encoder:
    """Encodes for one tokenizer and remembers, within bounds, the ids of pieces."""

    def __init__(self, tokenization: Tokenization, cuts: Cuts) -> None:
        self.cuts = cuts
        self._tokenization = tokenization
        self._pieces: Remembered[str, array[int]] = Remembered(_MOST_BYTES)

    @property
    def remembered_bytes(self) -> int:
        """How much is remembered, about."""
        return self._pieces.weight

    def cut(self, text: str) -> CutText:
        """The text, every piece of which may recur."""
        return CutText(tuple(self.cuts.pieces(text)))

    def encode(self, text: str) -> list[int]:
        """Text -> ids, as ``Tokenization.encode`` gives them."""
        return self.encode_batch([self.cut(text)])[0]

    def encode_batch(self, texts: Sequence[CutText]) -> list[list[int]]:
        """The ids of every text, in order.

        Each call of the tokenizer costs as much as some ten tokens. So what is neither remembered nor in two of the
        texts is encoded together with what follows it, and its ids are read off the whole.
        """
        ids: dict[str, list[int]] = {}
        new: list[str] = []
        for piece, count in Counter(piece for text in texts for piece in text.known).items():
            remembered = self._pieces.get(piece)
            if remembered is not None:
                ids[piece] = remembered.tolist()
            elif count > 1:
                new.append(piece)
                ids[piece] = []
        plans = [_plan(text, ids) for text in texts]
        runs = [part for plan in plans for part in plan if isinstance(part, _Run)]
        encoded = self._tokenization.encode_batch([*new, *(run.text for run in runs)])
        for piece, made in zip(new, encoded, strict=False):
            ids[piece] = made
            self._remember(piece, made)
        of_runs = encoded[len(new) :]
        for run, made in zip(runs, of_runs, strict=True):
            if run.before:
                self._read_off(run, made)
        following = iter(of_runs)
        return [_joined([next(following) if isinstance(part, _Run) else ids[part] for part in plan]) for plan in plans]

    def _read_off(self, run: _Run, ids: list[int]) -> None:
        """Remember the pieces of a run by its ids: every piece but the first of a text begins with a cut's token.

        Such a token always gives its id. Were there more of these ids than tokens in the text, the model had made one
        of other text, and nobody could tell which.
        """
        places = self.cuts.places(ids)
        if len(places) != self.cuts.count(run.text):
            return
        if self.cuts.count(run.before[0]):
            places = places[1:]
        starts = [0, *places, len(ids)]
        for piece, (start, end) in zip(run.before, pairwise(starts), strict=False):
            self._remember(piece, ids[start:end])

    def _remember(self, piece: str, ids: list[int]) -> None:
        compact = array("I", ids)
        self._pieces.put(piece, compact, ENTRY_BYTES + getsizeof(piece) + getsizeof(compact))


class _Run(NamedTuple):
    """Neighbouring pieces that are encoded as one text: ``before`` is worth remembering, ``rest`` is not."""

    before: tuple[str, ...]
    rest: str

    @property
    def text(self) -> str:
        """The text that is encoded."""
        return "".join(self.before) + self.rest


def _plan(text: CutText, ids: dict[str, list[int]]) -> list[str | _Run]:
    """The parts of a text in order: pieces whose ids are (or will be) in ``ids``, and runs of others."""
    plan: list[str | _Run] = []
    run: list[str] = []
    for piece in text.known:
        if piece not in ids:
            run.append(piece)
            continue
        if run:
            plan.append(_Run(tuple(run), ""))
            run = []
        plan.append(piece)
    if run or text.rest:
        plan.append(_Run(tuple(run), text.rest))
    return plan


def _joined(parts: list[list[int]]) -> list[int]:
    if len(parts) == 1:
        return parts[0]
    joined: list[int] = []
    for part in parts:
        joined += part
    return joined
