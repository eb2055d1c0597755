"""Makes text safe and visible: no character of a template may drive the reader's terminal or hide from the eye."""

from __future__ import annotations

import re

_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}

# Printable to Python, yet they draw nothing: grapheme joiner, Hangul and Khmer fillers, variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def visible(text: str, *, backslash: bool = False, keep: str = "") -> str:
    r"""Return ``text`` with whatever is not plainly visible written as an escape (``\n``, ``\x1b``, ``\u200b``).

    Covers control, format (bidirectional, zero-width), surrogate, private-use and unassigned characters and every
    space but U+0020. ``backslash`` also doubles ``\``, so that the result tells a line feed from the two characters
    ``\n``. Characters in ``keep`` stay as they are.
    """
    if text.isprintable() and not (backslash and "\\" in text) and _INVISIBLE.search(text) is None:
        return text
    return "".join(char if char in keep else _visible_char(char, backslash) for char in text)


def defused(line: str) -> str:
    """Return a line of a log so that no CI runner takes it, or a part of it, for a command: a backslash breaks it.

    GitHub's runner obeys a line that begins with ``::`` behind spaces, and ``##[`` anywhere in a line.
    """
    if "##[" in line:
        line = line.replace("##[", "#\\#[")
    text = line.lstrip()
    return f"{line[: len(line) - len(text)]}\\{text}" if text.startswith("::") else line


def visible_cells(text: str, *, backslash: bool = False) -> list[str]:
    """Return one visible string per character of ``text``, for layouts that must map offsets to columns."""
    return [_visible_char(char, backslash) for char in text]


def _visible_char(char: str, backslash: bool) -> str:
    if char == "\\":
        return "\\\\" if backslash else char
    if char.isprintable() and _INVISIBLE.match(char) is None:
        return char
    if short := _SHORT.get(char):
        return short
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
