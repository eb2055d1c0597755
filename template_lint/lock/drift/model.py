"""The nouns of drift: what was compared, what differs, how grave it is. Data only."""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

from template_lint.model import Anchor, Finding, TargetError


class Grade(enum.Enum):
    """How grave drift is; the value is the word of the JSON document. ``SAME`` means that nothing moved at all."""

    SAME = "same"
    REVISION = "revision-moved"
    FILES = "files-changed"
    PROMPTS = "prompts-differ"
    VERDICT = "verdict-regressed"

    @property
    def number(self) -> int | None:
        """0 to 3; None where nothing moved."""
        return {"same": None, "revision-moved": 0, "files-changed": 1, "prompts-differ": 2}.get(self.value, 3)


class SideInfo(NamedTuple):
    """One side of a comparison. ``word`` names it in a sentence (``pinned``, ``live``, ``4.57``, ``first``)."""

    word: str
    target: str
    profile: str
    repo: str | None = None
    revision: str | None = None
    requested: str | None = None

    @property
    def short(self) -> str:
        """The commit in seven characters, or the target where there is none."""
        return self.revision[:7] if self.revision else self.target


class FileChange(NamedTuple):
    """A file whose sha256 differs; None on the side that lacks it."""

    path: str
    before: str | None
    after: str | None


class TokenDifference(NamedTuple):
    """The first index ``at`` (0-based) at which two sequences of ids part; None past the end of one."""

    at: int
    before_id: int | None
    after_id: int | None
    before_text: str | None
    after_text: str | None


class Difference(NamedTuple):
    """One conversation that reads differently, at the first cut where it does.

    ``messages`` is the number of messages rendered. ``before`` and ``after`` are excerpts that begin at the same
    offset, ``excerpt_offset`` is where they part within them and ``offset`` within the whole text (code points). On a
    side that raised, the excerpt is None and ``before_error`` (``after_error``) says what. ``reasons`` name what is
    known to make the difference. ``kind`` is ``text``, ``ids`` or ``error``.
    """

    conversation: str
    kind: str
    messages: int
    before: str | None
    after: str | None
    offset: int = 0
    excerpt_offset: int = 0
    before_error: str | None = None
    after_error: str | None = None
    token: TokenDifference | None = None
    reasons: tuple[str, ...] = ()


class PromptDrift(NamedTuple):
    """All conversations compared. ``names`` lists those that differ, with the kind of each: ``text``, ``ids``, or
    ``error`` where only one side gives a prompt.

    ``gained`` lists those that raised before and give a prompt now: no run that went well is touched by them, so they
    are in ``names`` only where the two sides are peers (versions of transformers). ``first`` is the first difference;
    ``causes`` maps each reason (see ``Difference.reasons``) to the names it made differ. ``ids_skipped`` says why ids
    were not compared, None where they were (or must be the same).
    """

    conversations: int
    renders: int
    names: dict[str, str]
    first: Difference | None
    causes: dict[str, list[str]]
    gained: tuple[str, ...] = ()
    ids_skipped: str | None = None

    def number(self, kind: str) -> int:
        """How many conversations differ in this way."""
        return sum(found == kind for found in self.names.values())


class TokenizerChange(NamedTuple):
    """One kind of change to a tokenizer: a sentence, how many entries it concerns, the first of them, what it means."""

    kind: str
    sentence: str
    number: int = 1
    examples: tuple[dict[str, Any], ...] = ()
    meaning: str = ""


class ProbeDifference(NamedTuple):
    """A probe text whose ids differ."""

    text: str
    token: TokenDifference


class TokenizerDrift(NamedTuple):
    """What changed about a tokenizer, and for how many of the fixed probe texts that changes the ids.

    ``decode_differs`` counts the probe texts whose ids are the same and decode to another text. ``skipped`` says why
    tokenizers were not compared, None where they were.
    """

    changes: tuple[TokenizerChange, ...] = ()
    probes: int = 0
    differ: int = 0
    first: ProbeDifference | None = None
    touched: tuple[ProbeDifference, ...] = ()
    decode_differs: int = 0
    skipped: str | None = None


class Aspect(NamedTuple):
    """One thing a run relies on (``delta``, ``mask``, ``turn end`` ...) and what became of it.

    ``status`` is ``same``, ``changed``, ``lost`` or ``gained``; ``sentence`` says it for a person.
    """

    name: str
    status: str
    sentence: str
    before: str | None = None
    after: str | None = None


class PatchState(NamedTuple):
    """What became of a training template: ``valid``, ``not-needed``, ``broken``, or ``unknown`` to the library."""

    name: str
    status: str
    sentence: str
    instead: str | None = None


class TemplateDrift(NamedTuple):
    """One template of both sides, by name. ``source_diff`` is unified, bounded, without line ends; raw text.

    ``new`` and ``fixed`` are the lint delta; ``losses`` say which property that held no longer does.
    """

    name: str
    file: str | None
    before_verdict: str
    after_verdict: str
    prompts: PromptDrift
    source_diff: tuple[str, ...] = ()
    source_added: int = 0
    source_removed: int = 0
    new: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    losses: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    aspects: tuple[Aspect, ...] = ()
    patch: PatchState | None = None
    fits: str | None = None


class PairResult(NamedTuple):
    """What a worker found out about one template of both sides, and about their tokenizers (None where not asked)."""

    template: TemplateDrift
    tokenizer: TokenizerDrift | None


class Drift(NamedTuple):
    """One comparison: the grade with its sentence, the evidence, the findings, and what to do (``advice``).

    ``unmatched`` names templates that only one side has. ``unchecked`` says what could not be compared although it
    should have been: such a comparison is never clean. With ``error`` there is nothing but the two sides.
    """

    target: str
    before: SideInfo
    after: SideInfo
    grade: Grade
    sentence: str
    files: tuple[FileChange, ...] = ()
    templates: tuple[TemplateDrift, ...] = ()
    unmatched: tuple[str, ...] = ()
    tokenizer: TokenizerDrift | None = None
    findings: tuple[Finding, ...] = ()
    advice: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    error: TargetError | None = None
    anchor: Anchor | None = None


class DriftReport(NamedTuple):
    """Everything one ``diff`` found out, in the order asked."""

    drifts: tuple[Drift, ...]

    @property
    def findings(self) -> list[Finding]:
        """The findings of all comparisons, suppressed ones included."""
        return [finding for drift in self.drifts for finding in drift.findings]
