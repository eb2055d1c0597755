"""Which transformers version is mirrored, and what that version does differently.

A verdict without a stated profile is not a verdict: the same messages give other prompts under 4.57 and 5.24. Features
by version were read in the released packages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from template_lint.errors import UsageError

OLDEST = (4, 57)
NEWEST_KNOWN = (5, 24)
_VERSION = re.compile(r"^v?(\d+)\.(\d+)(?:[.\w+-]*)?$")


class Profile(NamedTuple):
    """The behaviour of one transformers version.

    ``version`` is (major, minor) as asked for; a version newer than the newest known behaves as the newest known.
    """

    version: tuple[int, int]

    @property
    def label(self) -> str:
        """What reports print, for example ``5.24``; says so where a newer version is mirrored by an older profile."""
        text = f"{self.version[0]}.{self.version[1]}"
        if self.version > NEWEST_KNOWN:
            return f"{text}, mirrored as {NEWEST_KNOWN[0]}.{NEWEST_KNOWN[1]}"
        return text

    @property
    def aliases_reasoning(self) -> bool:
        """From 5.21 reasoning is copied under every name that templates read."""
        return self.version >= (5, 21)

    @property
    def plain_data(self) -> bool:
        """From 5.23 all that the template sees is rebuilt from plain JSON types; dict and namespace are restricted."""
        return self.version >= (5, 23)

    @property
    def drops_none(self) -> bool:
        """From 5.24 message keys whose value is None are dropped, and an empty conversation is refused."""
        return self.version >= (5, 24)

    @property
    def sanitizes(self) -> bool:
        """From 5.20 apply_chat_template has ``sanitize_control_tokens``."""
        return self.version >= (5, 20)

    @property
    def lazy_tracker(self) -> bool:
        """4.57's generation tracker is inactive until something was yielded: a span at offset 0 is lost."""
        return self.version < (5, 0)

    @property
    def cleans_up_spaces(self) -> bool:
        """4.57 decodes with ``clean_up_tokenization_spaces`` where the tokenizer asks for it; 5.x does not."""
        return self.version < (5, 0)

    @property
    def masks_by_overlap(self) -> bool:
        """5.x masks each token that overlaps a span; 4.57 asks for the tokens of the span's two end characters."""
        return self.version >= (5, 0)


def parse_profile(text: str) -> Profile:
    """``4.57``, ``5.24.0``, ``v5.20`` -> Profile. Raises UsageError for anything else, or for a version before 4.57."""
    match = _VERSION.match(text.strip())
    if match is None:
        raise UsageError(f"--transformers {text!r} is not a version. Write for example 4.57 or 5.24.")
    version = int(match[1]), int(match[2])
    if version < OLDEST:
        raise UsageError(f"--transformers {text}: the oldest version mirrored is {OLDEST[0]}.{OLDEST[1]}.")
    return Profile(version=version)


@lru_cache(maxsize=1)
def installed_profile() -> Profile:
    """The profile of the transformers installed beside us, read without importing it; the newest known if there is
    none.
    """
    version = _installed_version()
    if version is None or version < OLDEST:
        return Profile(version=NEWEST_KNOWN)
    return Profile(version=version)


def resolve_profile(text: str | None) -> Profile:
    """The profile asked for, or the installed one where ``text`` is None."""
    return installed_profile() if text is None else parse_profile(text)


def _installed_version() -> tuple[int, int] | None:
    # importlib.metadata costs 25 ms at import; the folder name beside the package says the same.
    import sys
    from pathlib import Path

    for entry in sys.path:
        folder = Path(entry or ".")
        if not (folder / "transformers" / "__init__.py").is_file():
            continue
        for info in folder.glob("transformers-*.dist-info"):
            match = _VERSION.match(info.name.removeprefix("transformers-").removesuffix(".dist-info"))
            if match:
                return int(match[1]), int(match[2])
    return None
