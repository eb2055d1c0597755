"""Writes small GGUF files without the gguf package, so that tests can break them on purpose."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

UINT32, INT32, STRING, ARRAY = 4, 5, 8, 9


def text(value: str, order: str = "<") -> bytes:
    """A GGUF string."""
    data = value.encode()
    return struct.pack(f"{order}Q", len(data)) + data


def value(content: Any, order: str = "<") -> bytes:
    """Type and value: str, int (uint32), list of str, list of int (int32)."""
    if isinstance(content, str):
        return struct.pack(f"{order}I", STRING) + text(content, order)
    if isinstance(content, int):
        return struct.pack(f"{order}II", UINT32, content)
    kind = STRING if content and isinstance(content[0], str) else INT32
    items = (text(item, order) if kind == STRING else struct.pack(f"{order}i", item) for item in content)
    return struct.pack(f"{order}IIQ", ARRAY, kind, len(content)) + b"".join(items)


def gguf_bytes(fields: dict[str, Any], *, version: int = 3, order: str = "<", count: int | None = None) -> bytes:
    """A whole file without tensors; ``count`` replaces the true number of fields."""
    head = b"GGUF" + struct.pack(f"{order}IQQ", version, 0, len(fields) if count is None else count)
    return head + b"".join(text(key, order) + value(content, order) for key, content in fields.items())


def write_gguf(path: Path, fields: dict[str, Any], **options: Any) -> Path:
    """Write gguf_bytes() to a file."""
    path.write_bytes(gguf_bytes(fields, **options))
    return path
