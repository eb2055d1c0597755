"""What a text is drawn on: how wide it is and whether it has colours. Decided once per output stream."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
import contextlib
import os
import sys
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from template_lint.report.layout.width import width, wrap

# Where there is no terminal to ask: wide enough for a line of template, narrow enough for a CI log.
DEFAULT_WIDTH = 100
_MIN_WIDTH = 20

_SGR = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


class Canvas(NamedTuple):
    """A width in columns and a switch for colours. The default suits a file. ``card`` asks for capability cards."""

    width: int = DEFAULT_WIDTH
    color: bool = False
    card: bool = False

    def paint(self, text: str, style: str) -> str:
        """Colour ``text`` in ``style``, for example ``"bold red"``; without colours, return it unchanged."""
        if not self.color or not text or not style:
            return text
        codes = ";".join(_SGR[word] for word in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def hang(self, label: str, text: str, *, style: str = "", rest: str | None = None) -> list[str]:
        """Wrap ``text`` behind ``label``; further lines hang under the text, or begin with ``rest``.

        Where the label takes more than two thirds of the line, further lines begin further left.

        Only the label is painted in ``style``, so that wrapping never has to count escape sequences.
        """
        indent = " " * min(width(label), self.width * 2 // 3) if rest is None else rest
        lines = wrap(text, self.width, first=label, rest=indent)
        return [self.paint(label, style) + lines[0][len(label) :], *lines[1:]]


def canvas_for(stream: TextIO, environ: Mapping[str, str] = os.environ) -> Canvas:
    """Return the canvas of a stream: the terminal's width (or COLUMNS), colours on a terminal.

    NO_COLOR switches colours off and wins over FORCE_COLOR, which switches them on where there is no terminal; both
    count when they are not empty. See https://no-color.org and https://force-color.org.
    """
    return Canvas(width=max(_columns(stream, environ), _MIN_WIDTH), color=wants_color(stream, environ))


def _columns(stream: TextIO, environ: Mapping[str, str]) -> int:
    if environ.get("COLUMNS", "").isdecimal():
        return int(environ["COLUMNS"])
    if stream.isatty():
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    return DEFAULT_WIDTH


def table_canvas(stream: TextIO) -> Canvas:
    """Return the canvas for a table: a terminal breaks long rows, a program reads each row as one line."""
    canvas = canvas_for(stream)
    return canvas if stream.isatty() else canvas._replace(width=sys.maxsize)


def wants_color(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether colours should go to ``stream``."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"
