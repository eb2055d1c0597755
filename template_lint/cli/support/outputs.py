"""``--output FORMAT[=FILE]``: where each output format goes. Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from template_lint.cli.support.failures import discard_stdout
from template_lint.errors import UsageError
from template_lint.report import check_format

if TYPE_CHECKING:
    from template_lint.report import Writer
    from template_lint.report.layout.canvas import Canvas


class Output(NamedTuple):
    """One format and its destination; ``path`` None is stdout."""

    format: str
    path: Path | None

    @property
    def write(self) -> Writer:
        """The function that writes the format; its module is imported here, not when the option is parsed."""
        from template_lint.report import writer

        return writer(self.format)


def parse_outputs(texts: Sequence[str], known: Sequence[str] | None = None, *, origin: str = "") -> list[Output]:
    """Turn the values of ``--output`` into outputs; none at all means ``text`` on stdout.

    ``known`` are the formats of a command that has formats of its own. ``origin`` is where they are set: a mistake of a
    configuration file is told with its place, ``FILE:LINE``.
    Raises UsageError for an unknown format, two outputs to one place, or a file that cannot be made.
    """
    try:
        return _parse_all(texts, known)
    except UsageError as error:
        if not origin or origin.startswith("--"):
            raise
        raise UsageError(f"{origin}: {error}") from None


def _parse_all(texts: Sequence[str], known: Sequence[str] | None) -> list[Output]:
    outputs = [_parse(text, known) for text in texts or ["text"]]
    places = [output.path and output.path.resolve() for output in outputs]
    for output, place in zip(outputs, places, strict=True):
        if places.count(place) > 1:
            where = "standard output" if place is None else str(output.path)
            raise UsageError(f"two outputs go to {where}. Give each its own file: --output {output.format}=FILE.")
    return outputs


def _parse(text: str, known: Sequence[str] | None) -> Output:
    name, equals, file = text.partition("=")
    check_format(name, known)
    if not equals or file == "-":
        return Output(format=name, path=None)
    path = Path(file)
    if not file or path.is_dir() or not path.parent.is_dir():
        raise UsageError(f"--output {text}: cannot write a file there. Name a file in an existing folder.")
    return Output(format=name, path=path)


def emit(outputs: Sequence[Output], write: Callable[[Output, TextIO, Canvas], object]) -> None:
    """Call ``write`` for every output with its stream: files first, because the reader of stdout may leave early."""
    from template_lint.report.layout.canvas import Canvas, canvas_for

    for output in sorted(outputs, key=lambda output: output.path is None):
        if output.path is None:
            with standard_output() as stream:
                write(output, stream, canvas_for(stream))
        else:
            with atomic(output.path) as stream:
                write(output, stream, Canvas())


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """Yield stdout. A reader that has gone away (``| head``) ends the writing quietly; the exit code stays."""
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError as error:
        discard_stdout()
        raise UsageError(f"cannot write to standard output: {error.strerror or error}.") from None


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[TextIO]:
    """Yield a stream whose text replaces the file at ``path`` once it is complete; on an error the old file stays.

    What is no regular file (a pipe, /dev/stdout) is written to directly. Raises UsageError where writing fails.
    """
    direct = path.exists() and not path.is_file()
    target = path if direct else path.resolve()
    partial = target if direct else target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        try:
            with partial.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                yield stream
            if not direct:
                partial.replace(target)
        finally:
            if not direct:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}.") from None
