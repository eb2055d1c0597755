"""The nouns of the lock: what is written down of each model, and what is observed of a target to compare with it.

Data only. Digests are written ``sha256:`` and 64 hex digits; commits are 40 hex digits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from template_lint.model import TargetReport
from template_lint.snapshot.model import Snapshot

VERSION = 1
FILE_NAME = "template-lint.lock"


class ScenarioPrint(NamedTuple):
    """Short digests (12 hex digits) of the prompts of one scenario: of their text, and of their token ids or None.

    They name the scenario that changed, also where the pinned files are gone; whether anything changed is decided by
    the whole fingerprints.
    """

    text: str
    ids: str | None = None


class Prompts(NamedTuple):
    """The fingerprints of everything that one template renders over the catalogue.

    ``fingerprint`` is that of TemplateReport (bare hex); ``ids`` is the same over token ids, None without a tokenizer
    (``no_tokenizer`` then says why). ``scenarios`` maps every scenario, thinking switches included, to its prints.
    """

    fingerprint: str
    ids: str | None
    scenarios: Mapping[str, ScenarioPrint]
    no_tokenizer: str | None = None


class LockedPatch(NamedTuple):
    """The training template in use: its name, the digest of the original it stands for, and of its own text."""

    name: str
    original: str
    sha256: str


class LockedTemplate(NamedTuple):
    """What is pinned of one template: digest of its source, prompt fingerprints, verdict, training template."""

    name: str
    sha256: str
    prompts: str
    ids: str | None
    verdict: str
    kwargs: Mapping[str, Any] = {}
    patch: LockedPatch | None = None
    scenarios: Mapping[str, ScenarioPrint] = {}


class LockEntry(NamedTuple):
    """One pinned model: a Hub repository at a commit, or (``path`` set) a local file or folder without a revision.

    ``requested`` is the branch, tag or commit that was asked for. ``files`` maps every prompt-shaping file to its
    digest. ``line`` is the line of ``revision`` (or ``path``) in the lock, 0 where it was not read from a file;
    ``seal`` the seal that stands there, None where there is none.
    """

    repo: str | None
    revision: str | None
    requested: str | None
    files: Mapping[str, str]
    templates: tuple[LockedTemplate, ...]
    path: str | None = None
    line: int = 0
    seal: str | None = None

    @property
    def name(self) -> str:
        """The repository, or the path."""
        return self.repo or self.path or ""

    def content(self) -> dict[str, Any]:
        """Everything but line and seal, as plain data: equal content means an equal pin."""
        return {
            "repo": self.repo,
            "path": self.path,
            "revision": self.revision,
            "requested": self.requested,
            "files": dict(sorted(self.files.items())),
            "templates": [
                {
                    **template._asdict(),
                    "kwargs": dict(template.kwargs),
                    "patch": template.patch and template.patch._asdict(),
                    "scenarios": {name: list(prints) for name, prints in template.scenarios.items()},
                }
                for template in self.templates
            ],
        }

    def computed_seal(self) -> str:
        """16 hex digits over the content: a bot or a hand that bumps a revision alone leaves a stale seal behind."""
        text = json.dumps(self.content(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Lock(NamedTuple):
    """A whole lock: ``transformers`` is the profile mirrored (``5.24``), ``scenarios`` the catalogue's version.

    ``entries`` are sorted by name. ``vendor`` is the folder of the stored files, relative to the lock's own, or None.
    ``file`` is the lock as the user should see it.
    """

    transformers: str
    scenarios: int
    entries: tuple[LockEntry, ...]
    vendor: str | None = None
    version: int = VERSION
    file: str = FILE_NAME

    def find(self, name: str) -> LockEntry | None:
        """The entry of a repository (letter case aside, as on the Hub) or of a path."""
        for entry in self.entries:
            if entry.path == name or (entry.repo is not None and entry.repo.lower() == name.lower()):
                return entry
        return None


class Observation(NamedTuple):
    """One target, looked at: its files, its report and the fingerprints of its templates by name.

    ``snapshot`` is None where ``report.error`` says why the target could not be looked at. A template that does not
    compile, or took its worker down, has no prompts.
    """

    report: TargetReport
    snapshot: Snapshot | None = None
    prompts: Mapping[str, Prompts] = {}
    requested: str | None = None
