"""TL504: characters in the source that nobody sees."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from template_lint.facts import TemplateFacts
from template_lint.model import Finding, Severity
from template_lint.rendering.positions import SourceMap
from template_lint.rules.base import Rule
from template_lint.rules.wording import listed, plural

_KINDS = {
    "zero-width": "\u00ad \u034f \u180e \u200b-\u200d \u2060-\u2065 \ufeff \ufff9-\ufffb",
    "filler": "\u115f \u1160 \u17b4 \u17b5 \u3164 \uffa0",
    "bidirectional": "\u061c \u200e \u200f \u202a-\u202e \u2066-\u206f",
    "tag": "\U000e0000-\U000e007f",
    "variation-selector": "\U000e0100-\U000e01ef",
    "private-use": "\ue000-\uf8ff \U000f0000-\U0010ffff",
}
_JOINERS = "\u200c\u200d"


class InvisibleCharacters(Rule):
    """The source contains characters that nobody sees.

    What: zero-width characters, bidirectional controls, tag characters, variation selectors beyond those of emoji,
    fillers and private-use characters, in text, strings or comments; a byte order mark too. Joiners inside emoji and
    inside words of scripts that need them are fine, and so is an escape such as ``\\u200b``, which is plain to see.

    Why it matters: they carry instructions that a reviewer cannot see but the model reads, or make the source look
    other than it is.

    How to fix: delete them; write an escape where one is really needed.
    """

    code = "TL504"
    name = "invisible-characters"
    severity = Severity.ERROR
    needs = ("template",)

    def check(self, facts: TemplateFacts) -> Iterator[Finding]:
        """One finding per kind, at its first character."""
        if facts.source.isascii():
            return
        source = SourceMap(facts.source, [])
        text = source.text
        kinds = {character: kind for character in set(text) if (kind := _kind(character)) is not None}
        found: dict[str, list[int]] = {}
        for offset, character in enumerate(text) if kinds else ():
            if character in kinds and not _joins(text, offset):
                found.setdefault(kinds[character], []).append(offset)
        for kind, offsets in found.items():
            names = list(dict.fromkeys(_name(text[offset]) for offset in offsets))
            yield self.finding(
                facts,
                f"the source has {plural(len(offsets), f'{kind} character')} that nobody sees: {listed(names)}",
                remedy="Delete them, or write an escape such as \\u200b where one is needed.",
                place=source.place(offsets[0], offsets[0] + 1),
                evidence={"kind": kind, "count": len(offsets), "characters": names[:16]},
            )


def _kind(character: str) -> str | None:
    for kind, spans in _KINDS.items():
        if any(span[0] <= character <= span[-1] for span in spans.split()):
            return kind
    return None


def _joins(text: str, offset: int) -> bool:
    """Whether a joiner stands between two characters that may need it: letters that are not ASCII, or pictures."""
    if text[offset] not in _JOINERS or not 0 < offset < len(text) - 1:
        return False
    return all(
        ord(neighbour) > 0x2FF and unicodedata.category(neighbour) in ("Lo", "Mn", "Mc", "So", "Sk")
        for neighbour in (text[offset - 1], text[offset + 1])
    )


def _name(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")
