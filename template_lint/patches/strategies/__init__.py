"""Ways to repair a cause: each gives candidate edits, the likeliest first. None decides whether a candidate is good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from template_lint.patches.edits import Edit


class Candidate(NamedTuple):
    """Edits to try together, and in one phrase what they do.

    ``reducible`` edits are independent of each other: those that turn out not to be needed are left out.
    """

    edits: Sequence[Edit]
    what: str
    reducible: bool = False


def shorten(source: str) -> str:
    """A piece of a template as one short line."""
    line = " ".join(source.split())
    return line if len(line) <= 60 else f"{line[:57]}..."
