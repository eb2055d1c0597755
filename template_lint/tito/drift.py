"""What happens to a buffer that is decoded and encoded again: which tokens change, and which lose their mask."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from operator import lt
from typing import NamedTuple

from template_lint.tito.buffer import Buffer, BufferInvariantError
from template_lint.tito.pieces import Pieces, pieces_of
from template_lint.tokenization import Tokenization


class Verdict(StrEnum):
    """What a trainer can still do with a re-encoded buffer, in the words of slime and TRL's asynchronous trainer.

    ``CLEAN``: nothing changed. ``REALIGN``: only tokens of the last sampled span changed, so that its tail can be
    aligned anew. ``FORK``: anything else; the re-encoded row is another trajectory.
    """

    CLEAN = "CLEAN"
    REALIGN = "REALIGN"
    FORK = "FORK"


class Mismatch(StrEnum):
    """The gravest way in which two sequences differ: the classes by which miles compares decoded trajectories.

    Special tokens come first: another number of them, then others in their place. Where they agree, the mask at the
    first differing token says whose text it is: not the model's (``non-assistant``), or the model's (``assistant``).
    """

    SPECIAL_COUNT = "special-count"
    SPECIAL_TYPE = "special-type"
    NON_ASSISTANT = "non-assistant"
    ASSISTANT = "assistant"


class Straddling(NamedTuple):
    """A re-encoded token with text of sampled and of other tokens: neither 1 nor 0 is its mask."""

    position: int
    token_id: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A buffer against the re-encoding of its decoded text.

    ``reencoded``: the new ids. ``drifted``: how many tokens of the buffer have no token of the same id and the same
    place in the text there. ``same_length``: other ids, but as many (silent drift: no shape gives it away).
    ``first``: index of the first difference, None if there is none. ``straddling``: see Straddling; ``position`` is an
    index into ``reencoded``.
    """

    reencoded: list[int]
    drifted: int
    same_length: bool
    first: int | None
    straddling: list[Straddling]
    verdict: Verdict
    mismatch: Mismatch | None


def measure(tokenization: Tokenization, ids: Sequence[int], mask: Sequence[int]) -> Drift:
    """Re-encode decode(ids), special tokens kept, and compare.

    ``mask``: 1 for each sampled token of ``ids``, else 0. Raises BufferInvariantError if its length differs,
    CannotCheckError (``no-bytes``) if ids changed and the tokenizer is neither byte-level nor SentencePiece.
    """
    own_ids, own_mask = list(ids), [1 if sampled else 0 for sampled in mask]
    text = tokenization.decode(own_ids)
    return compare(tokenization, own_ids, own_mask, text, tokenization.encode(text))


def measure_many(tokenization: Tokenization, buffers: Iterable[Buffer]) -> list[Drift]:
    """As measure() for every buffer, decoding and encoding all of them at once on all processors."""
    chosen = list(buffers)
    texts = tokenization.decode_batch([buffer.ids for buffer in chosen])
    encoded = tokenization.encode_batch(texts)
    return [
        compare(tokenization, buffer.ids, buffer.mask, text, reencoded)
        for buffer, text, reencoded in zip(chosen, texts, encoded, strict=True)
    ]


def compare(tokenization: Tokenization, ids: list[int], mask: Sequence[int], text: str, reencoded: list[int]) -> Drift:
    """As measure(), for who has decoded (``text``) and encoded (``reencoded``) already."""
    if len(mask) != len(ids):
        raise BufferInvariantError(f"{len(ids)} token ids came with {len(mask)} mask values: give one each.")
    if reencoded == ids:
        return Drift(
            reencoded=reencoded,
            drifted=0,
            same_length=False,
            first=None,
            straddling=[],
            verdict=Verdict.CLEAN,
            mismatch=None,
        )
    first = _common_prefix(ids, reencoded)
    shorter = min(len(ids), len(reencoded)) - first
    tail = _common_prefix(ids[len(ids) - shorter :][::-1], reencoded[len(reencoded) - shorter :][::-1])
    changed, changed_to = ids[first : len(ids) - tail], reencoded[first : len(reencoded) - tail]
    pieces = pieces_of(tokenization)
    own, other = _places_of_changed(pieces, first, changed, changed_to) or _places_of_all(
        tokenization, pieces, ids, text, reencoded
    )
    sampled = bytes(mask)
    at = min(first, len(ids) - 1)
    return Drift(
        reencoded=reencoded,
        drifted=len(own.ids) - _in_common(own, other),
        same_length=len(reencoded) == len(ids),
        first=first,
        straddling=_straddling(pieces, own, sampled, other),
        verdict=_verdict(sampled, at, len(ids) - tail),
        mismatch=_mismatch(tokenization.special_ids, changed, changed_to, sampled[at] == 1),
    )


def _common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many leading items agree. Halving compares whole slices, which the interpreter does at once."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


class _Places(NamedTuple):
    """Where neighbouring tokens stand in the text: ``ids[j]`` covers [starts[j], ends[j]), ``offset`` counts tokens."""

    offset: int
    ids: list[int]
    starts: list[int]
    ends: list[int]


def _places_of_changed(
    pieces: Pieces, first: int, changed: list[int], changed_to: list[int]
) -> tuple[_Places, _Places] | None:
    """Places in bytes, counted from token ``first``, where both stand for the same bytes; else None."""
    surfaces, surfaces_to = pieces.surfaces_of(changed), pieces.surfaces_of(changed_to)
    if b"".join(surfaces) != b"".join(surfaces_to):
        return None
    return _in_bytes(first, changed, surfaces), _in_bytes(first, changed_to, surfaces_to)


def _places_of_all(
    tokenization: Tokenization, pieces: Pieces, ids: list[int], text: str, reencoded: list[int]
) -> tuple[_Places, _Places]:
    """Places in code points of ``text``: a character that several tokens share belongs to each of them.

    For where a normaliser or invalid UTF-8 has changed the bytes.
    """
    own = _in_characters(pieces, ids, text)
    if tokenization.decode(reencoded) == text:
        return own, _in_characters(pieces, reencoded, text)
    _, offsets = tokenization.encode_with_offsets(text)
    return own, _Places(0, reencoded, [start for start, _ in offsets], [end for _, end in offsets])


def _in_bytes(offset: int, ids: list[int], surfaces: list[bytes]) -> _Places:
    ends = list(accumulate(map(len, surfaces)))
    return _Places(offset, ids, [0, *ends][: len(ends)], ends)


def _in_characters(pieces: Pieces, ids: list[int], text: str) -> _Places:
    surfaces = _valid_fallback_bytes(pieces, ids)
    characters = _character_starts(b"".join(surfaces))
    # The decoders of SentencePiece models remove the first space of a text.
    removed = len(characters) - len(text)
    places = _in_bytes(0, ids, surfaces)
    starts = [max(bisect_right(characters, start) - 1 - removed, 0) for start in places.starts]
    ends = [max(bisect_left(characters, end) - removed, 0) for end in places.ends]
    return _Places(0, ids, [min(start, end) for start, end in zip(starts, ends, strict=True)], ends)


def _valid_fallback_bytes(pieces: Pieces, ids: list[int]) -> list[bytes]:
    """The bytes of each token, with U+FFFD for every byte-fallback token of a run that is no valid UTF-8."""
    surfaces = pieces.surfaces_of(ids)
    if not pieces.byte_ids:
        return surfaces
    start = 0
    while start < len(ids):
        end = start
        while end < len(ids) and ids[end] in pieces.byte_ids:
            end += 1
        try:
            b"".join(surfaces[start:end]).decode()
        except UnicodeDecodeError:
            surfaces[start:end] = ["\N{REPLACEMENT CHARACTER}".encode()] * (end - start)
        start = end + 1
    return surfaces


def _character_starts(data: bytes) -> list[int]:
    """Byte offset of every character of ``data.decode(errors="replace")``."""
    starts: list[int] = []
    position = 0
    while position < len(data):
        valid_end = after = len(data)
        try:
            data[position:].decode()
        except UnicodeDecodeError as error:
            valid_end, after = position + error.start, position + error.end
        starts += [offset for offset in range(position, valid_end) if data[offset] & 0xC0 != 0x80]
        if valid_end < after:
            starts.append(valid_end)
        position = after
    return starts


def _in_common(own: _Places, other: _Places) -> int:
    there = set(zip(other.ids, other.starts, other.ends, strict=True))
    return sum(map(there.__contains__, zip(own.ids, own.starts, own.ends, strict=True)))


def _straddling(pieces: Pieces, own: _Places, sampled: bytes, other: _Places) -> list[Straddling]:
    """Tokens of ``other`` that cover both sides of a change of the mask of ``own``."""
    found: dict[int, Straddling] = {}
    kept: set[tuple[int, int, int]] = set()
    for last_end, start in _mask_changes(own, sampled[own.offset : own.offset + len(own.ids)]):
        index = bisect_right(other.ends, start)
        while index < len(other.ids) and other.starts[index] < last_end:
            kept = kept or set(zip(own.ids, own.starts, own.ends, strict=True))
            token_id = other.ids[index]
            # A token that kept its place keeps its mask, even if it shares a character with tokens of the other kind.
            if (token_id, other.starts[index], other.ends[index]) not in kept:
                text = pieces.surface(token_id).decode(errors="replace")
                found[index] = Straddling(other.offset + index, token_id, text)
            index += 1
    return [found[index] for index in sorted(found)]


def _mask_changes(own: _Places, sampled: bytes) -> Iterator[tuple[int, int]]:
    """(end of the last token before a change, start of the first one after it), tokens without any text left out."""
    starts, ends = own.starts, own.ends
    if not all(map(lt, starts, ends)):
        with_text = [index for index, start in enumerate(starts) if start < ends[index]]
        starts, ends = [starts[index] for index in with_text], [ends[index] for index in with_text]
        sampled = bytes([sampled[index] for index in with_text])
    change = 0
    while sampled and (change := sampled.find(1 - sampled[change], change)) >= 0:
        yield ends[change - 1], starts[change]


def _verdict(sampled: bytes, first: int, end: int) -> Verdict:
    """Verdict for sequences whose first and last difference are tokens ``first`` and ``end`` - 1 of the buffer."""
    last_end = sampled.rfind(1) + 1
    last_start = sampled.rfind(0, 0, last_end) + 1
    return Verdict.REALIGN if last_start <= first < last_end and end <= last_end else Verdict.FORK


def _mismatch(special_ids: frozenset[int], changed: list[int], changed_to: list[int], by_model: bool) -> Mismatch:
    special = [token_id for token_id in changed if token_id in special_ids]
    special_to = [token_id for token_id in changed_to if token_id in special_ids]
    if len(special) != len(special_to):
        return Mismatch.SPECIAL_COUNT
    if special != special_to:
        return Mismatch.SPECIAL_TYPE
    return Mismatch.ASSISTANT if by_model else Mismatch.NON_ASSISTANT
