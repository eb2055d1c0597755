"""The text of ``template-lint.lock`` -> Lock. The file is a stranger's: every name and digest is checked here, once.

Everything wrong is a LockError with file and line. Reads no model and reaches no network.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from template_lint.errors import UsageError
from template_lint.lock.model import (
    FILE_NAME,
    VERSION,
    Lock,
    LockedPatch,
    LockedTemplate,
    LockEntry,
    ScenarioPrint,
)
from template_lint.lock.nodes import LockError, Nodes, compose
from template_lint.snapshot.files import ADDITIONAL_FOLDER, PROMPT_SHAPING_FILES
from template_lint.target import parse_target

if TYPE_CHECKING:
    from yaml import Node

MAX_BYTES = 16 << 20

_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{12}( [0-9a-f]{12})?")
_SEAL = re.compile(r"[0-9a-f]{16}")
_VERSION = re.compile(r"\d+\.\d+")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_VERDICTS = frozenset({"stable", "stable-with-kwargs", "breaks-on-user", "unstable", "no-tools", "unrenderable"})
_ADDITIONAL = re.compile(rf"{ADDITIONAL_FOLDER}/[^/\\:\x00-\x1f]+\.jinja")
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})(?= |$)", re.MULTILINE)


def find_lock(folder: Path) -> Path | None:
    """The lock of a folder: in it or the nearest folder above it, up to the root of the git repository."""
    folder = folder.resolve()
    for parent in (folder, *folder.parents):
        if (parent / FILE_NAME).is_file():
            return parent / FILE_NAME
        if (parent / ".git").exists():
            return None
    return None


def read_lock(path: Path, shown: str | None = None) -> Lock:
    """Read a lock; ``shown`` is its path as the user should see it. Raises LockError."""
    shown = shown or path.as_posix()
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise LockError(f"there is no {shown}. Write it with `template-lint lock TARGET...`.") from None
    except OSError as error:
        raise LockError(f"cannot read {shown}: {error.strerror or error}. Check that it may be read.") from None
    if len(data) > MAX_BYTES:
        raise LockError(f"{shown} is no lock: it has more than {MAX_BYTES >> 20} MiB. Restore the file.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise LockError(f"{shown}:{line}: not UTF-8. Restore the file.") from None
    return parse_lock(text, shown)


def parse_lock(text: str, shown: str = FILE_NAME) -> Lock:
    """The lock in a text. Raises LockError."""
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        line = text.count("\n", 0, conflict.start()) + 1
        raise LockError(
            f"{shown}:{line}: a merge conflict is not resolved. Keep one side of each block (the revisions matter, "
            "the rest is recomputed), then run `template-lint lock`."
        )
    return _Reader(shown).lock(compose(text, shown))


class _Reader(Nodes):
    """Walks the nodes of one lock."""

    def lock(self, root: Node | None) -> Lock:
        if root is None:
            raise LockError(f"{self.shown}:1: the lock is empty. Write it with `template-lint lock TARGET...`.")
        keys = self.mapping(root, "the lock", ("version", "transformers", "scenarios", "models"), ("vendor",))
        version = self.number(keys["version"], "version")
        if version != VERSION:
            self.fail(
                keys["version"],
                f"a lock of version {version}; this template-lint reads version {VERSION}",
                "Upgrade template-lint.",
            )
        vendor = None
        if "vendor" in keys:
            vendor = self.relative(keys["vendor"], "vendor")
        entries: dict[str, LockEntry] = {}
        for node in self.sequence(keys["models"], "models"):
            entry = self.entry(node)
            if entry.name.lower() in entries:
                self.fail(node, f"{entry.name} is there twice", "Remove one of the two blocks.")
            entries[entry.name.lower()] = entry
        return Lock(
            transformers=self.match(keys["transformers"], "transformers", _VERSION, "a version such as 5.24"),
            scenarios=self.number(keys["scenarios"], "scenarios"),
            entries=tuple(entries.values()),
            vendor=vendor,
            file=self.shown,
        )

    def entry(self, node: Node) -> LockEntry:
        keys = self.mapping(node, "a model", ("files", "templates"), ("repo", "revision", "requested", "path", "seal"))
        if ("repo" in keys) == ("path" in keys):
            self.fail(node, "a model has either a repo or a path")
        repo = path = revision = requested = None
        if "repo" in keys:
            for key in ("revision", "requested"):
                if key not in keys:
                    self.fail(keys["repo"], f"this model has no {key}")
            repo = self.repo(keys["repo"])
            revision = self.match(keys["revision"], "revision", _COMMIT, "a commit of 40 hex digits")
            requested = self.requested(keys["requested"], repo)
            line = keys["revision"].start_mark.line + 1
        else:
            path = self.relative(keys["path"], "path")
            for key in ("revision", "requested"):
                if key in keys:
                    self.fail(keys[key], f"a local model has no {key}")
            line = keys["path"].start_mark.line + 1
        files = {}
        for name, value in self.pairs(keys["files"], "files"):
            # A single template file is its own name; everything else is a known name within the model.
            if name not in PROMPT_SHAPING_FILES and not _ADDITIONAL.fullmatch(name) and name != path:
                self.fail(value, f"{name!r} is no prompt-shaping file of a model")
            files[name] = self.match(value, "a file", _SHA256, "sha256: and 64 hex digits")
        templates = [self.template(child) for child in self.sequence(keys["templates"], "templates")]
        if len({template.name for template in templates}) < len(templates):
            self.fail(keys["templates"], "two templates have one name")
        seal = self.match(keys["seal"], "seal", _SEAL, "16 hex digits") if "seal" in keys else None
        return LockEntry(
            repo=repo,
            revision=revision,
            requested=requested,
            files=files,
            templates=tuple(templates),
            path=path,
            line=line,
            seal=seal,
        )

    def template(self, node: Node) -> LockedTemplate:
        required = ("name", "sha256", "verdict", "prompts")
        keys = self.mapping(node, "a template", required, ("kwargs", "patch", "ids", "scenarios"))
        verdict = self.string(keys["verdict"], "verdict")
        if verdict not in _VERDICTS:
            self.fail(keys["verdict"], f"{verdict!r} is no verdict")
        digest = "sha256: and 64 hex digits"
        scenarios = {}
        for name, value in self.pairs(keys["scenarios"], "scenarios") if "scenarios" in keys else ():
            text, _, ids = self.match(value, "a scenario", _SHORT, "one or two digests of 12 hex digits").partition(" ")
            scenarios[name] = ScenarioPrint(text, ids or None)
        prompts = self.string(keys["prompts"], "prompts")
        if prompts and not _SHA256.fullmatch(prompts):
            self.fail(keys["prompts"], f"prompts must be {digest}")
        return LockedTemplate(
            name=self.match(keys["name"], "name", _NAME, "a name"),
            sha256=self.match(keys["sha256"], "sha256", _SHA256, digest),
            prompts=prompts,
            ids=self.match(keys["ids"], "ids", _SHA256, digest) if "ids" in keys else None,
            verdict=verdict,
            kwargs={name: self.scalar(value) for name, value in self.pairs(keys["kwargs"], "kwargs")}
            if "kwargs" in keys
            else {},
            patch=self.patch(keys["patch"]) if "patch" in keys else None,
            scenarios=scenarios,
        )

    def patch(self, node: Node) -> LockedPatch:
        keys = self.mapping(node, "a patch", ("name", "original", "sha256"), ())
        digest = "sha256: and 64 hex digits"
        return LockedPatch(
            name=self.match(keys["name"], "name", re.compile(r"[a-z0-9][a-z0-9.-]{0,99}"), "a training template"),
            original=self.match(keys["original"], "original", _SHA256, digest),
            sha256=self.match(keys["sha256"], "sha256", _SHA256, digest),
        )

    # Values.

    def repo(self, node: Node) -> str:
        text = self.string(node, "repo")
        try:
            target = parse_target(f"hf:{text}")
        except UsageError:
            target = None
        if target is None or target.repo != text:
            self.fail(node, f"{text!r} is no Hub repository", "Write org/name.")
        return text

    def requested(self, node: Node, repo: str) -> str:
        text = self.string(node, "requested")
        try:
            target = parse_target(f"hf:{repo}@{text}")
        except UsageError:
            target = None
        if target is None or target.revision != text:
            self.fail(node, f"{text!r} is no branch, tag or commit")
        return text

    def relative(self, node: Node, key: str) -> str:
        """A POSIX path that stays below the folder of the lock, whatever the operating system makes of it."""
        text = self.string(node, key)
        if not is_relative(text):
            self.fail(node, f"{key} {text!r} leads out of the folder of the lock. Use a relative path below it")
        return text


def is_relative(text: str) -> bool:
    """Whether a POSIX path stays below the folder it starts from, on every operating system."""
    path = PurePosixPath(text)
    parts = text.split("/")
    plain = _NAME.fullmatch(text) is not None and "\\" not in text and ":" not in text and not text.startswith("~")
    return plain and not path.is_absolute() and ".." not in parts and "" not in parts[:-1] and text not in ("", ".")
