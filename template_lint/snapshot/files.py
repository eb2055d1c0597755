"""Reading prompt-shaping files: bytes, text, JSON, sha256, with one clear error each. Chooses no template."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from template_lint.errors import CannotCheckError, UsageError

MAX_SOURCE_BYTES = 1 << 20
"""Largest template source, in bytes of UTF-8. The largest real one known is under 100 kB."""

MAX_JSON_BYTES = 64 << 20
"""Largest JSON file that is parsed whole. Real tokenizer_config.json files reach 1.2 MB; tokenizer.json is exempt."""

TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2")
TEMPLATE_FILE = "chat_template.jinja"
ADDITIONAL_FOLDER = "additional_chat_templates"
TOKENIZER_CONFIG = "tokenizer_config.json"
PROCESSOR_TEMPLATE = "chat_template.json"
PROCESSOR_CONFIG = "processor_config.json"
TOKENIZER_JSON = "tokenizer.json"

MAX_JSON_DEPTH = 100
"""Deepest nesting of a JSON file: what is deeper cannot be handed to a worker."""

VOCABULARY_FILES = (
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tekken.json",
    "tiktoken.model",
)
"""Files from which transformers can build a tokenizer where tokenizer.json is missing."""

PROMPT_SHAPING_FILES = (
    TEMPLATE_FILE,
    TOKENIZER_CONFIG,
    TOKENIZER_JSON,
    PROCESSOR_TEMPLATE,
    PROCESSOR_CONFIG,
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
    "config.json",
    *VOCABULARY_FILES,
)


def read_source_bytes(path: Path, shown: str) -> bytes:
    """Read a template file of at most MAX_SOURCE_BYTES. ``shown`` is the path as the user should see it.

    Raises CannotCheckError (``too-large``, ``unreadable``), UsageError where the file does not exist.
    """
    return _read(path, shown, MAX_SOURCE_BYTES)


def read_stream(stream: BinaryIO, shown: str) -> bytes:
    """Read a template source from an open stream; the stream is read no further than one byte past the limit."""
    data = stream.read(MAX_SOURCE_BYTES + 1)
    if len(data) > MAX_SOURCE_BYTES:
        raise too_large(shown, None, MAX_SOURCE_BYTES)
    return data


def decode_source(data: bytes, shown: str) -> str:
    """Bytes of a template file -> the string that transformers reads: UTF-8, newlines -> LF, a BOM kept as U+FEFF."""
    return _decode(data, shown).replace("\r\n", "\n").replace("\r", "\n")


def read_json_object(path: Path, shown: str) -> dict[str, Any]:
    """Parse a JSON file that must hold an object. Raises CannotCheckError with line and column where it does not."""
    import json

    text = _decode(_read(path, shown, MAX_JSON_BYTES), shown)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise CannotCheckError(
            f"{shown} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}. Repair the file.",
            kind="malformed",
        ) from None
    except RecursionError:
        raise _too_deep(shown) from None
    if not isinstance(value, dict):
        raise wrong_type(shown, "", "an object", value)
    if _is_deep(value):
        raise _too_deep(shown)
    return value


def _is_deep(value: Any) -> bool:
    """Whether JSON is nested deeper than MAX_JSON_DEPTH: it could be parsed, but not handed to a worker."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _too_deep(shown: str) -> CannotCheckError:
    return CannotCheckError(f"{shown} is nested too deeply to be read. Repair the file.", kind="malformed")


def sha256_bytes(data: bytes) -> str:
    """Hex digest of bytes in memory."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path, shown: str) -> str:
    """Hex digest of a file of any size, read as a stream (tokenizer.json is up to 33 MB, about 20 ms)."""
    import hashlib

    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(shown, error) from error


def is_file(path: Path, shown: str) -> bool:
    """Whether a regular file (or a link to one) is there; a folder that may not be entered is an error, not a no."""
    try:
        return path.is_file()
    except OSError as error:
        raise unreadable(shown, error) from error


def too_large(shown: str, size: int | None, limit: int) -> CannotCheckError:
    """The error for a file over its limit; both sizes in bytes, ``size`` None where the end was not reached."""
    found = "more than that" if size is None else f"{size:,} bytes"
    return CannotCheckError(
        f"{shown} is too large to check: the limit is {limit:,} bytes and it has {found}. Is it the file you mean?",
        kind="too-large",
    )


def unreadable(shown: str, error: OSError) -> CannotCheckError:
    """The error for a file or folder that the operating system will not let us read."""
    return CannotCheckError(f"cannot read {shown}: {error.strerror or error}. Check that it may be read.")


def wrong_type(shown: str, pointer: str, wanted: str, value: object) -> CannotCheckError:
    """The error for JSON whose value at ``pointer`` has the wrong type."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    where = f" at {pointer}" if pointer else ""
    return CannotCheckError(
        f"{shown} must hold {wanted}{where}, not {names.get(type(value), 'a number')}. Repair the file.",
        kind="malformed",
    )


def _read(path: Path, shown: str, limit: int) -> bytes:
    try:
        with path.open("rb") as handle:
            data = handle.read(limit + 1)
            if len(data) > limit:
                size = path.stat().st_size
                raise too_large(shown, size if size > limit else None, limit)
    except FileNotFoundError:
        raise UsageError(f"no such file: {shown}. Check the path.") from None
    except OSError as error:
        raise unreadable(shown, error) from error
    return data


def _decode(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CannotCheckError(
            f"{shown} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}. "
            "transformers reads it as UTF-8; save it in that encoding.",
            kind="not-utf-8",
        ) from None
