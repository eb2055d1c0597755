"""Reads the key-value section of a GGUF file, versions 2 and 3, by itself.

The ``gguf`` package takes 7 to 18 s for the vocabularies of current models and runs on past the end of a broken file;
this takes a tenth of a second. Layout: docs/gguf.md of ggml. Weights and tensor tables are never touched.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from template_lint.errors import CannotCheckError
from template_lint.snapshot.files import unreadable

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


class GgufMetadata:
    """The metadata of one GGUF file; arrays are converted when asked for.

    Raises CannotCheckError: ``malformed`` for a broken or shortened file, ``unreadable`` where it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._shown = path.as_posix()
        try:
            with path.open("rb") as handle:
                self._data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise self._broken("it is empty") from None
        except OSError as error:
            raise unreadable(self._shown, error) from error
        if self._data[:4] != b"GGUF":
            raise self._broken("it does not begin with 'GGUF'")
        version = self._data[4:8]
        # Versions are small numbers, so the order of the bytes shows in which half the zeros are.
        self._order = ">" if version[:2] == b"\0\0" else "<"
        if version not in (struct.pack(f"{self._order}I", known) for known in (2, 3)):
            raise self._broken("its version is neither 2 nor 3")
        self._fields = self._find_fields()

    def __iter__(self) -> Iterator[str]:
        """All keys, in file order."""
        return iter(self._fields)

    def get(self, key: str) -> Any:
        """The value of a key (int, float, bool, str or a list of them), None where it is missing."""
        field = self._fields.get(key)
        return None if field is None else self._read(*field)[0]

    def _find_fields(self) -> dict[str, tuple[int, int]]:
        """Key -> (type, offset of the value)."""
        fields = {}
        (count,), offset = self._unpack("Q", 16)
        for _ in range(count):
            key, offset = self._string(offset)
            (kind,), offset = self._unpack("I", offset)
            fields[key] = (kind, offset)
            offset = self._skip(kind, offset)
        return fields

    def _read(self, kind: int, offset: int) -> tuple[Any, int]:
        if kind == _STRING:
            return self._string(offset)
        if kind == _ARRAY:
            (item_kind, length), offset = self._unpack("IQ", offset)
            if item_kind != _STRING:
                values, offset = self._unpack(f"{length}{self._format(item_kind)}", offset)
                return list(values), offset
            items = []
            for _ in range(length):
                item, offset = self._string(offset)
                items.append(item)
            return items, offset
        (value,), offset = self._unpack(self._format(kind), offset)
        return value, offset

    def _skip(self, kind: int, offset: int) -> int:
        """The offset behind a value."""
        if kind == _STRING:
            (length,), offset = self._unpack("Q", offset)
            return self._inside(offset + length)
        if kind != _ARRAY:
            return self._inside(offset + struct.calcsize(self._format(kind)))
        (item_kind, length), offset = self._unpack("IQ", offset)
        if item_kind == _STRING:
            unpack, size = struct.Struct(f"{self._order}Q").unpack_from, len(self._data)
            for _ in range(length):
                if offset + 8 > size:
                    return self._inside(offset + 8)
                offset += 8 + unpack(self._data, offset)[0]
            return self._inside(offset)
        return self._inside(offset + length * struct.calcsize(self._format(item_kind)))

    def _string(self, offset: int) -> tuple[str, int]:
        (length,), offset = self._unpack("Q", offset)
        end = self._inside(offset + length)
        try:
            return self._data[offset:end].decode("utf-8"), end
        except UnicodeDecodeError as error:
            raise self._broken(f"the text at byte {offset + error.start} is not UTF-8") from None

    def _unpack(self, layout: str, offset: int) -> tuple[tuple[Any, ...], int]:
        """Values of a struct layout without padding, and the offset behind them."""
        end = self._inside(offset + struct.calcsize(f"={layout}"))
        return struct.unpack_from(f"{self._order}{layout}", self._data, offset), end

    def _format(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise self._broken(f"it has a value of unknown or nested type {kind}")
        return _SCALARS[kind]

    def _inside(self, offset: int) -> int:
        if offset > len(self._data):
            raise self._broken(f"it ends at byte {len(self._data):,}, inside the metadata")
        return offset

    def _broken(self, reason: str) -> CannotCheckError:
        return CannotCheckError(
            f"{self._shown} is not a readable GGUF file: {reason}. Download it again.", kind="malformed"
        )
