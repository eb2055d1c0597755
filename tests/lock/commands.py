"""What the tests of ``template-lint lock`` have in common."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]
LOCK = "template-lint.lock"


def flat(text: str) -> str:
    """A text without its line breaks and indentation."""
    return " ".join(text.split())
