"""What each token of a vocabulary adds to a decoded text, as bytes. One table per tokenization, built once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from template_lint.errors import CannotCheckError
from template_lint.tokenization import Tokenization

_PREFIX = 2
_tables: WeakKeyDictionary[Tokenization, Pieces] = WeakKeyDictionary()


class Pieces:
    """The bytes of every token of one vocabulary, and the way back from bytes to tokens.

    ``surfaces``: by token id, the bytes a token stands for; empty for an id that no token has. What decoders remove at
    the beginning of a text (the space of ``▁Hello``) is still there.
    ``atomic``: ids of special tokens and of other added tokens but those of white space (the newline runs of Gemma 3
    are added tokens, yet ordinary text). A model emits an atomic token whole or not at all.
    ``byte_ids``: ids of byte-fallback tokens such as ``<0x0A>``; empty for byte-level vocabularies.
    """

    def __init__(self, tokenization: Tokenization) -> None:
        """Raise CannotCheckError (``no-bytes``) for a decoder whose tokens have no bytes of their own."""
        to_bytes, has_fallback = _reader(tokenization.decoder_steps())
        vocabulary = tokenization.vocabulary()
        self.surfaces: list[bytes] = [b""] * (max(vocabulary.values(), default=-1) + 1)
        for piece, token_id in vocabulary.items():
            self.surfaces[token_id] = to_bytes(piece)
        for token_id in tokenization.added_ids:
            self.surfaces[token_id] = to_bytes(tokenization.token(token_id))
        byte_tokens = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)} if has_fallback else {}
        bytes_of_id = {vocabulary[name]: byte for name, byte in byte_tokens.items() if name in vocabulary}
        for token_id, byte in bytes_of_id.items():
            self.surfaces[token_id] = byte
        self.byte_ids: frozenset[int] = frozenset(bytes_of_id)
        blank = {token_id for token_id in tokenization.added_ids if self.surfaces[token_id].isspace()}
        self.atomic: frozenset[int] = tokenization.special_ids | (tokenization.added_ids - blank)

    def surface(self, token_id: int) -> bytes:
        """The bytes of any token, atomic or not; empty for an id outside the vocabulary, as decode() has it."""
        return self.surfaces[token_id] if 0 <= token_id < len(self.surfaces) else b""

    def surfaces_of(self, ids: Sequence[int]) -> list[bytes]:
        """As surface() for each id."""
        try:
            return list(map(self.surfaces.__getitem__, ids))
        except IndexError:
            return [self.surface(token_id) for token_id in ids]

    def splittable(self, token_id: int) -> bytes | None:
        """The bytes of a token that other tokens could stand for; None for atomic tokens and unknown ids."""
        return None if token_id in self.atomic else self.surface(token_id) or None

    @cached_property
    def _ids(self) -> tuple[dict[bytes, int], dict[bytes, list[int]]]:
        """Bytes -> the lowest id of the tokens, but atomic ones, that stand for exactly these; -> their other ids."""
        lowest: dict[bytes, int] = {}
        others: dict[bytes, list[int]] = {}
        for token_id, surface in enumerate(self.surfaces):
            if not surface or token_id in self.atomic:
                continue
            if lowest.setdefault(surface, token_id) != token_id:
                others.setdefault(surface, []).append(token_id)
        return lowest, others

    @cached_property
    def _longest(self) -> dict[bytes, int]:
        """The first bytes of a token -> length of the longest token that begins so."""
        found: dict[bytes, int] = {}
        for surface in self._ids[0]:
            prefix = surface[:_PREFIX]
            if len(surface) > found.get(prefix, 0):
                found[prefix] = len(surface)
        return found

    def starting_at(self, data: bytes, start: int) -> list[tuple[int, int]]:
        """All tokens but atomic ones that ``data`` has at ``start``: (byte offset of the end, id), ascending."""
        lowest, others = self._ids
        longest = max(self._longest.get(data[start : start + _PREFIX], 0), 1)
        found = []
        for end in range(start + 1, min(start + longest, len(data)) + 1):
            surface = data[start:end]
            token_id = lowest.get(surface)
            if token_id is not None:
                found.append((end, token_id))
                if surface in others:
                    found += [(end, other) for other in others[surface]]
        return found


def pieces_of(tokenization: Tokenization) -> Pieces:
    """The table of a tokenization; only the first call for one builds it."""
    table = _tables.get(tokenization)
    if table is None:
        table = _tables[tokenization] = Pieces(tokenization)
    return table


def _reader(steps: list[dict[str, Any]]) -> tuple[Callable[[str], bytes], bool]:
    """How a piece becomes bytes under a decoder (see decoder_steps), and whether ``<0x0A>`` is a byte there."""
    kinds = [step["type"] for step in steps]
    if kinds == ["ByteLevel"]:
        return _byte_level, False
    if not kinds or not {"Replace", "Metaspace", "ByteFallback", "Fuse", "Strip"}.issuperset(kinds):
        raise CannotCheckError(
            f"the tokens have no bytes of their own: the tokenizer decodes with {kinds or 'spaces between tokens'}. "
            "Byte-level and SentencePiece tokenizers can be checked.",
            kind="no-bytes",
        )
    replacements = list(_replacements(steps))

    def to_bytes(piece: str) -> bytes:
        for old, new in replacements:
            piece = piece.replace(old, new)
        return piece.encode()

    return to_bytes, "ByteFallback" in kinds


def _replacements(steps: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    for step in steps:
        if step["type"] == "Metaspace":
            yield step["replacement"], " "
        elif step["type"] == "Replace":
            if "String" not in step["pattern"]:
                raise CannotCheckError("the tokenizer decodes with a regular expression.", kind="no-bytes")
            yield step["pattern"]["String"], step["content"]


def _byte_level(piece: str) -> bytes:
    """Bytes of a piece of a byte-level vocabulary; a piece with any other character stands for its UTF-8 bytes."""
    try:
        return bytes([_BYTE_OF_CHARACTER[character] for character in piece])
    except KeyError:
        return piece.encode()


def _byte_level_alphabet() -> dict[str, int]:
    """Character -> byte of the byte-level alphabet of GPT-2: visible Latin-1 is itself, the rest begins at U+0100."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(0x100 + rank): byte for rank, byte in enumerate(hidden)}


_BYTE_OF_CHARACTER = _byte_level_alphabet()
