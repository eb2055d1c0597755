"""What is known about each training template: the schema of ``templates_patched/NAME.yaml``, and the index of them all.

``index.yaml`` is generated from them and written as JSON, which is YAML, so that it loads without a YAML parser.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from template_lint.errors import TemplateLintError
from template_lint.patches.proof import LAWS, ROLES, Difference, Expectation
from template_lint.rendering.profiles import Profile, parse_profile

VERSION = 1
FIX_KINDS = ("prefix", "markers", "mask", "arguments", "terminator", "null-content")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REQUIRED = ("name", "family", "models", "originals", "fixes", "stable_roles", "transformers")
_OPTIONAL = ("kwargs", "special_tokens", "tokenizer", "differences", "laws")


class LibraryError(TemplateLintError):
    """An entry of the library is not as the schema has it: a defect of this package. The message has file and key."""

    kind = "internal"


@dataclass(frozen=True, kw_only=True)
class KnownOriginal:
    """One original: sha256 of its text, where the inputs have it, and sha256 of its normalised source ("" unknown)."""

    sha256: str
    source: str
    normalised: str = ""


@dataclass(frozen=True, kw_only=True)
class Fix:
    """What the training template repairs; ``kind`` is one of FIX_KINDS."""

    kind: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class ListedDifference:
    """A difference, and the profiles (``4.57``) under which it occurs; empty: all."""

    difference: Difference
    transformers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One training template. ``transformers`` are the profiles under which it is proven."""

    name: str
    family: str
    models: tuple[str, ...]
    originals: tuple[KnownOriginal, ...]
    fixes: tuple[Fix, ...]
    stable_roles: tuple[str, ...]
    transformers: tuple[str, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    special_tokens: Mapping[str, str] = field(default_factory=dict)
    tokenizer: str | None = None
    differences: tuple[ListedDifference, ...] = ()
    not_applicable: frozenset[str] = frozenset()

    def expectation(self, profile: Profile) -> Expectation:
        """What the proof must give under one profile."""
        differences = [
            listed.difference
            for listed in self.differences
            if not listed.transformers or any(parse_profile(v).version == profile.version for v in listed.transformers)
        ]
        return Expectation(
            stable_roles=frozenset(self.stable_roles),
            laws=frozenset(LAWS),
            differences=tuple(differences),
            not_applicable=self.not_applicable,
        )


def library_folder() -> Path | None:
    """Where the training templates lie: in the installed package, or beside it in a checkout. None where neither."""
    package = Path(__file__).parent.parent
    for folder in (package / "templates_patched", package.parent / "templates_patched"):
        if (folder / "index.yaml").is_file():
            return folder
    return None


def load_index() -> tuple[Entry, ...]:
    """All entries by name, from ``index.yaml``; none where there is no library. Raises LibraryError."""
    folder = library_folder()
    return () if folder is None else _load(folder)


@lru_cache(maxsize=2)
def _load(folder: Path) -> tuple[Entry, ...]:
    data = json.loads((folder / "index.yaml").read_text(encoding="utf-8"))
    if data.get("version") != VERSION:
        raise LibraryError(f"index.yaml: version {data.get('version')!r} is not {VERSION}. Reinstall template-lint.")
    return tuple(parse_entry(entry, "index.yaml") for entry in data["templates"])


def find_entry(name: str) -> Entry | None:
    """The entry of this name, or None."""
    return next((entry for entry in load_index() if entry.name == name), None)


def read_source(name: str) -> str:
    """The text of a training template of the library. Raises LibraryError where its file is missing."""
    folder = library_folder()
    path = None if folder is None else folder / f"{name}_training.jinja"
    if path is None or not path.is_file():
        raise LibraryError(f"{name}: {name}_training.jinja is missing from the library. Reinstall template-lint.")
    return path.read_text(encoding="utf-8")


def digest(source: str) -> str:
    """sha256 of a template text, as reports print it."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def parse_entry(data: Any, where: str) -> Entry:
    """An Entry from its YAML or JSON data. Raises LibraryError that names ``where`` and the key."""
    return _Reader(where).entry(data)


class _Reader:
    """Reads one entry; every complaint begins with the file."""

    def __init__(self, where: str) -> None:
        self.where = where

    def entry(self, data: Any) -> Entry:
        data = self.mapping(data, _REQUIRED, _OPTIONAL, "the entry")
        name = self.text(data["name"], "name")
        self.where = f"{self.where}: {name}"
        if not _NAME.fullmatch(name):
            self.complain("name may have lower-case letters, digits, . and -")
        roles = self.words(data["stable_roles"], "stable_roles", ROLES)
        if "tool" not in roles:
            self.complain("stable_roles lacks tool")
        laws = self.table(data.get("laws", {}), "laws")
        if unknown := sorted(set(laws) - set(LAWS)) or [n for n, v in laws.items() if v != "not-applicable"]:
            self.complain(f"laws: {unknown[0]} must be a law, and its value not-applicable")
        tokenizer = data.get("tokenizer")
        return Entry(
            name=name,
            family=self.text(data["family"], "family"),
            models=self.words(data["models"], "models"),
            originals=tuple(self.original(item) for item in self.items(data["originals"], "originals")),
            fixes=tuple(self.fix(item) for item in self.items(data["fixes"], "fixes")),
            stable_roles=roles,
            transformers=self.versions(data["transformers"]),
            kwargs=self.table(data.get("kwargs", {}), "kwargs"),
            special_tokens=self.table(data.get("special_tokens", {}), "special_tokens"),
            tokenizer=None if tokenizer is None else self.text(tokenizer, "tokenizer"),
            differences=tuple(self.difference(item) for item in self.items(data.get("differences", []), "differences")),
            not_applicable=frozenset(laws),
        )

    def original(self, data: Any) -> KnownOriginal:
        data = self.mapping(data, ("sha256", "source"), ("normalised",), "originals")
        for key in ("sha256", "normalised"):
            if not _SHA256.fullmatch(data.get(key) or "0" * 64):
                self.complain(f"originals: {key} must be 64 hex digits, is {data[key]!r}")
        source = self.text(data["source"], "originals: source")
        return KnownOriginal(sha256=data["sha256"], source=source, normalised=data.get("normalised") or "")

    def fix(self, data: Any) -> Fix:
        data = self.mapping(data, ("kind", "sentence"), (), "fixes")
        if data["kind"] not in FIX_KINDS:
            self.complain(f"fixes: kind {data['kind']!r} is none of {', '.join(FIX_KINDS)}")
        return Fix(kind=data["kind"], sentence=self.text(data["sentence"], "fixes: sentence"))

    def difference(self, data: Any) -> ListedDifference:
        data = self.mapping(data, ("law", "scenarios", "sentence"), ("transformers", "only"), "differences")
        if data["law"] not in LAWS:
            self.complain(f"differences: law {data['law']!r} is none of {', '.join(LAWS)}")
        scenarios = self.words(data["scenarios"], "differences: scenarios")
        sentence = self.text(data["sentence"], "differences: sentence")
        versions = self.versions(data["transformers"]) if "transformers" in data else ()
        only = self.words(data["only"], "differences: only") if "only" in data else ()
        return ListedDifference(difference=Difference(data["law"], scenarios, sentence, only), transformers=versions)

    def versions(self, data: Any) -> tuple[str, ...]:
        versions = self.words(data, "transformers")
        for version in versions:
            try:
                parse_profile(version)
            except TemplateLintError:
                self.complain(f'transformers: {version!r} is not a version such as "5.24"')
        return versions

    def words(self, data: Any, key: str, known: frozenset[str] | None = None) -> tuple[str, ...]:
        items = self.items(data, key)
        if not items or not all(isinstance(item, str) for item in items):
            self.complain(f'{key} must be a list of strings (versions in quotes: "5.24")')
        if known is not None and (unknown := sorted(set(items) - known)):
            self.complain(f"{key}: {unknown[0]!r} is none of {', '.join(sorted(known))}")
        return tuple(items)

    def items(self, data: Any, key: str) -> list[Any]:
        if not isinstance(data, list):
            self.complain(f"{key} must be a list")
        return list(data)

    def table(self, data: Any, key: str) -> dict[str, Any]:
        if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
            self.complain(f"{key} must be a mapping")
        return dict(data)

    def text(self, data: Any, key: str) -> str:
        if not isinstance(data, str) or not data.strip():
            self.complain(f"{key} must be a text")
        return str(data)

    def mapping(self, data: Any, required: tuple[str, ...], optional: tuple[str, ...], key: str) -> dict[str, Any]:
        data = table = self.table(data, key)
        if missing := [name for name in required if name not in data]:
            self.complain(f"{key}: {missing[0]} is missing")
        if unknown := [name for name in data if name not in (*required, *optional)]:
            self.complain(f"{key}: {unknown[0]!r} is not known; known are {', '.join((*required, *optional))}")
        return table

    def complain(self, what: str) -> None:
        raise LibraryError(f"{self.where}: {what}. See templates_patched/README.md.")
