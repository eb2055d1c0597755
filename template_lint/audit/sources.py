"""Files of recorded rows -> blocks: pieces small enough for any machine, whatever the size of the file.

The process that cuts blocks parses nothing. JSON lines are cut at line ends (a line longer than MAX_LINE is a bad row
and is never held), Parquet files at row groups.
"""

from __future__ import annotations

import contextlib
import glob as patterns
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from template_lint.audit.model import NothingToAuditError, Origin, RowError
from template_lint.errors import CannotCheckError, UsageError

BLOCK_BYTES = 4 << 20
MAX_LINE = 64 << 20
_READ = 1 << 20
_ZST_READ = 1 << 10  # compressed bytes expanded at once: a bomb cannot make much of them
_SUFFIXES = (".jsonl", ".ndjson", ".parquet", ".jsonl.gz", ".ndjson.gz", ".jsonl.zst", ".ndjson.zst")

UNREADABLE = (EOFError, zlib.error, gzip.BadGzipFile, OSError)


class Source(NamedTuple):
    """One input: ``name`` as shown, ``path`` None for standard input, ``kind`` ``lines`` or ``parquet``.

    ``number`` counts the inputs of a run from 0; Origin.file holds it.
    """

    number: int
    name: str
    path: str | None
    kind: str


class Block(NamedTuple):
    """A piece of a source: rows from ``first_row`` on (1-based), or what could not be read there.

    ``data`` are whole lines. A Parquet block names a row group instead and is read by whoever audits it. ``unreadable``
    says why the source could not be read to its end.
    """

    source: Source
    first_row: int
    data: bytes = b""
    row_group: int | None = None
    errors: tuple[RowError, ...] = ()
    unreadable: str | None = None


def expand(words: Sequence[str]) -> list[Source]:
    """Files, folders, glob patterns and ``-``, in the order given; folders and patterns are sorted.

    Raises UsageError for a path that does not exist, NothingToAuditError where a folder or pattern holds nothing.
    """
    found: list[tuple[str, str | None]] = []
    for word in words:
        if word == "-":
            found.append(("<stdin>", None))
            continue
        path = Path(word)
        try:
            if path.is_dir():
                files = sorted(str(file) for file in path.rglob("*") if _is_rows(file))
                if not files:
                    raise NothingToAuditError(f"{word}: no rollouts in this folder (files {', '.join(_SUFFIXES)}).")
            elif path.exists():
                files = [word]
            elif patterns.has_magic(word):
                found_files = patterns.glob(word, recursive=True)  # noqa: PTH207  (a pattern of any kind, absolute too)
                files = sorted(file for file in found_files if Path(file).is_file())
                if not files:
                    raise NothingToAuditError(f"{word}: no file matches.")
            else:
                raise UsageError(f"no such file or folder: {word!r}. Give recorded rollouts, or - for standard input.")
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot look at {word!r}: {error}. Check the path.") from None
        found += [(file, file) for file in files]
    distinct = list(dict.fromkeys(found))
    if sum(path is None for _, path in found) > 1 or not distinct:
        raise UsageError("standard input can be read once.")
    return [Source(index, name, path, _kind(path)) for index, (name, path) in enumerate(distinct)]


def _is_rows(file: Path) -> bool:
    return file.name.lower().endswith(_SUFFIXES) and file.is_file()


def _kind(path: str | None) -> str:
    if path is None:
        return "lines"
    try:
        with Path(path).open("rb") as stream:
            return "parquet" if stream.read(4) == b"PAR1" or path.lower().endswith(".parquet") else "lines"
    except OSError:
        return "lines"


def blocks(source: Source, *, size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Cut one source into blocks. Never raises for a bad file: the last block says what is wrong."""
    if source.kind == "parquet":
        yield from _row_groups(source)
        return
    row = 1
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if source.path is None else _open(source.path) as stream:
            for block in _line_blocks(source, lambda: _read(stream), size):
                row = block.first_row + block.data.count(b"\n") + len(block.errors)
                yield block
    except _Cut as cut:
        if cut.rest.data:
            row = cut.rest.first_row + cut.rest.data.count(b"\n")
            yield cut.rest
        yield Block(source, row, unreadable=cut.reason)
    except OSError as error:
        yield Block(source, row, unreadable=error.strerror or str(error))
    except CannotCheckError as error:
        yield Block(source, row, unreadable=str(error))


class _Cut(Exception):
    """The stream broke; ``rest`` holds the whole lines before that."""

    def __init__(self, reason: str, rest: Block) -> None:
        super().__init__(reason)
        self.reason, self.rest = reason, rest


def _read(stream: BinaryIO) -> bytes:
    # A damaged file gives what stands before the damage only where it is read in small steps.
    return stream.read1(_READ) if isinstance(stream, gzip.GzipFile) else stream.read(_READ)


def _line_blocks(source: Source, read: Callable[[], bytes], size: int) -> Iterator[Block]:
    row, pending, skipped = 1, bytearray(), 0
    while True:
        try:
            data = read()
        except UNREADABLE as error:
            whole = bytes(pending[: pending.rfind(b"\n") + 1])
            raise _Cut(_reason(error), Block(source, row, whole)) from None
        at_end = not data
        if skipped:
            end = data.find(b"\n")
            skipped += len(data) if end < 0 else end
            if end < 0 and not at_end:
                continue
            yield _overlong(source, row, skipped)
            row, skipped, data = row + 1, 0, data[end + 1 :]
        pending += data
        if at_end:
            if pending:
                yield Block(source, row, bytes(pending) if pending.endswith(b"\n") else bytes(pending) + b"\n")
            return
        if len(pending) >= size:
            end = pending.rfind(b"\n") + 1
            if end:
                yield Block(source, row, bytes(pending[:end]))
                row += pending.count(b"\n", 0, end)
                del pending[:end]
            if len(pending) > MAX_LINE:
                skipped = len(pending)
                pending.clear()


def _overlong(source: Source, row: int, length: int) -> Block:
    message = f"a line of {length / 1e6:.0f} MB; lines may have {MAX_LINE >> 20} MiB. Write one trajectory per line."
    return Block(source, row, errors=(RowError(Origin(source.number, row), "too-long", message),))


def _reason(error: BaseException) -> str:
    if isinstance(error, EOFError):
        return "the compressed file ends too early: it was cut off while it was written or copied"
    if isinstance(error, (zlib.error, gzip.BadGzipFile)):
        return f"the compressed data is damaged: {error}"
    return str(getattr(error, "strerror", None) or error)


def _open(path: str) -> BinaryIO:
    stream = Path(path).open("rb")  # noqa: SIM115  (handed to the caller, who closes it)
    magic = stream.read(4)
    stream.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if magic == b"\x28\xb5\x2f\xfd":
        return _Zstandard(stream)  # type: ignore[return-value]
    return stream


class _Zstandard:
    """A stream of decompressed bytes that knows when its file was cut off, as GzipFile does."""

    def __init__(self, stream: BinaryIO) -> None:
        try:
            import zstandard
        except ImportError:
            stream.close()
            raise CannotCheckError(
                "reading .zst needs zstandard: pip install 'template-lint[audit]'.", kind="needs-extra"
            ) from None
        self._stream, self._library = stream, zstandard
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._rest = b""
        self._begun = False

    def __enter__(self) -> _Zstandard:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        """At least ``size`` bytes, or what is left. Raises EOFError for a file that was cut off."""
        out = bytearray()
        while len(out) < size:
            data = self._rest or self._stream.read(_ZST_READ)
            self._rest = b""
            if not data:
                if self._begun and not out:
                    raise EOFError
                break
            if not self._begun:
                self._frame = self._library.ZstdDecompressor().decompressobj()
            try:
                out += self._frame.decompress(data)
            except self._library.ZstdError as error:
                raise zlib.error(str(error)) from None
            self._begun = not self._frame.eof
            if self._frame.eof:
                self._rest = self._frame.unused_data
        return bytes(out)


def _row_groups(source: Source) -> Iterator[Block]:
    from template_lint.audit.parquet import open_parquet

    assert source.path is not None
    try:
        with open_parquet(source.path) as file:
            counts = [file.metadata.row_group(index).num_rows for index in range(file.metadata.num_row_groups)]
    except CannotCheckError as error:
        yield Block(source, 1, unreadable=str(error))
        return
    row = 1
    for index, count in enumerate(counts):
        yield Block(source, row, row_group=index)
        row += count
