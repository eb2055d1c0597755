"""The options of one run. Defaults here; the command line (and, later, a configuration file) overrides them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from template_lint.model import Severity


class Options(NamedTuple):
    """Everything that can change the outcome of a check. Immutable; part of the cache key.

    ``select`` and ``ignore`` hold rule codes, code prefixes or names; an empty ``select`` means every rule.
    ``transformers`` is the version to mirror, for example ``5.24``; None means the one installed beside us.
    ``tokenizer`` names a target whose tokenizer serves templates that come without one. ``conversations`` are JSONL
    files of the user's own messages, tools and kwargs. ``require`` names capabilities that must be there: ``tools``
    turns TL200 into an error and runs the tool rules anyway. ``jobs`` is the number of worker processes; 0 means one
    per processor. ``cache`` reuses earlier results.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity | None = Severity.ERROR
    transformers: str | None = None
    tokenizer: str | None = None
    conversations: tuple[Path, ...] = ()
    require: frozenset[str] = frozenset()
    jobs: int = 0
    offline: bool = False
    cache: bool = True
