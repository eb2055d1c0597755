"""The options of one run. Defaults here; a configuration file (see ``settings``) and the command line override them."""

# No postponed annotations: NamedTuple would compile each of them at start-up.
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from template_lint.model import Anchor, Severity

REQUIREMENTS: Mapping[str, str] = MappingProxyType({"tools": "TL200", "generation-markers": "TL401"})
"""What a run may require of every template -> the rule that says it is missing: asked then, and an error."""


class Ignore(NamedTuple):
    """Rules (codes, prefixes or names) whose findings are expected in a target, why, and where that is written."""

    rules: tuple[str, ...]
    reason: str
    anchor: Anchor | None = None


class TargetSpec(NamedTuple):
    """What a configuration says about one target: a path (a folder stands for what is beneath it) or a repository.

    ``tokenizer``, ``conversations`` and ``require`` add to those of the run, and win over them. ``anchor`` is the line
    that names the target.
    """

    target: str
    tokenizer: str | None = None
    conversations: tuple[Path, ...] = ()
    require: frozenset[str] = frozenset()
    ignore: tuple[Ignore, ...] = ()
    anchor: Anchor | None = None


class Options(NamedTuple):
    """Everything that can change the outcome of a check. Immutable.

    ``select`` and ``ignore`` hold rule codes, code prefixes or names; an empty ``select`` means every rule.
    ``extend_select`` adds to what is selected, ``extend_ignore`` to what is ignored. ``severity`` maps such words to
    the severity that findings get instead; the longest prefix wins. Findings below ``min_severity`` are hidden and
    counted. ``fail_on`` is the least severe finding that fails a run, None for never.

    ``transformers`` is the version to mirror, for example ``5.24``; None means the one installed beside us.
    ``tokenizer`` names a target whose tokenizer serves templates that come without one. ``conversations`` are JSONL
    files of the user's own messages, tools and kwargs. ``require`` names what every template must have (see
    ``REQUIREMENTS``); ``tools`` also runs the tool rules on templates that know none.

    ``inline_ignores`` says whether ``{# template-lint: ignore[...] #}`` counts; None means in local files only, not in
    what comes from the Hub. ``baseline`` is the file of known findings. ``targets`` is what is known of single targets,
    whether they are checked or not. ``locked`` are Hub repositories that a lock pins and that are nevertheless looked
    at as they are now. ``exclude`` holds patterns of paths, relative to ``exclude_root`` (default: the current
    folder), that folders leave out, and that are left out by name too with ``force_exclude``. ``lock`` is the lock
    file.

    ``jobs`` is the number of worker processes; 0 means one per processor. ``cache`` reuses earlier results.
    ``display`` adds to each template's report what a page shows: renders that part, and token strips.
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
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = MappingProxyType({})
    min_severity: Severity = Severity.INFO
    inline_ignores: bool | None = None
    baseline: Path | None = None
    targets: tuple[TargetSpec, ...] = ()
    locked: frozenset[str | None] = frozenset()
    exclude: tuple[str, ...] = ()
    exclude_root: Path | None = None
    force_exclude: bool = False
    lock: Path | None = None
    statistics: bool = False
    display: bool = False
