"""What the huggingface_hub cache holds of one repository, and our list of each commit's prompt-shaping files beside it.

Makes no requests. The layout is huggingface_hub's own (``models--org--name/{blobs,refs,snapshots,.no_exist}``); we add
``template-lint/<commit>.json``. With that list a commit that was seen once needs no request, and an offline run knows
that what it finds is all there is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from template_lint.snapshot.files import ADDITIONAL_FOLDER, PROMPT_SHAPING_FILES

DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}")
_FILES = frozenset({*PROMPT_SHAPING_FILES, "preprocessor_config.json"})
_ADDITIONAL_TEMPLATE = re.compile(rf"{ADDITIONAL_FOLDER}/[^/\\:\x00-\x1f]+\.jinja")


def shapes_prompt(name: str) -> bool:
    """Whether a file of a repository, named by its POSIX path, is one that we fetch. Never true for weights or code."""
    return name in _FILES or _ADDITIONAL_TEMPLATE.fullmatch(name) is not None


class RepositoryCache:
    """The cache folder of the repository ``repo`` (``org/name``) below the cache folder ``root``."""

    def __init__(self, root: Path, repo: str) -> None:
        self.root = root
        self._storage = root / ("models--" + repo.replace("/", "--"))

    def snapshot(self, commit: str) -> Path:
        """Return the folder of ``commit``; it need not exist."""
        return self._storage / "snapshots" / commit

    def commit_of(self, revision: str) -> str | None:
        """Return the 40-hex commit that ``revision`` was last seen to point to, None if it never was."""
        if COMMIT.fullmatch(revision):
            return revision
        try:
            commit = (self._storage / "refs" / revision).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return commit if COMMIT.fullmatch(commit) else None

    def listed(self, commit: str) -> tuple[str, ...] | None:
        """Return the prompt-shaping files of ``commit`` if an earlier fetch listed them and all are still here."""
        try:
            listing = json.loads(self._listing(commit).read_text(encoding="utf-8"))
            files = tuple(str(name) for name in listing["files"])
            # A list made when we looked for fewer files would hide the others.
            if listing["looked_for"] != sorted(_FILES) or not all(map(shapes_prompt, files)):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        folder = self.snapshot(commit)
        return files if folder.is_dir() and all((folder / name).is_file() for name in files) else None

    def found(self, commit: str) -> tuple[str, ...] | None:
        """Return the prompt-shaping files that another client left here, None unless it is known to have looked.

        That is so after a download of the whole repository (only those bring .gitattributes), and after transformers
        loaded a tokenizer (it marks the files it did not find). Offline, transformers itself loads just these.
        """
        folder = self.snapshot(commit)
        absent = self._storage / ".no_exist" / commit
        whole = (folder / ".gitattributes").exists()
        looked_for = ("tokenizer_config.json", "chat_template.jinja")
        if not whole and not all((folder / name).exists() or (absent / name).exists() for name in looked_for):
            return None
        names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return tuple(sorted(name for name in names if shapes_prompt(name)))

    def remember(self, revision: str, commit: str, files: tuple[str, ...]) -> None:
        """Record the list of ``commit`` and what ``revision`` points to. A cache that is read-only stays as it is."""
        try:
            _replace(self._listing(commit), json.dumps({"looked_for": sorted(_FILES), "files": files}))
            if revision != commit:
                _replace(self._storage / "refs" / revision, commit)
        except OSError:
            return

    def blob(self, digest: str) -> Path:
        """Return the file of content ``digest``: a git blob id (40 hex), or the sha256 of a large file (64 hex)."""
        return self._storage / "blobs" / digest

    @contextlib.contextmanager
    def incoming(self) -> Iterator[Path]:
        """Yield the path of a new file for content that arrives; it is gone afterwards, unless it was kept."""
        folder = self._storage / "blobs"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{uuid.uuid4().hex}.incomplete"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def keep(self, path: Path, digest: str) -> None:
        """Make the complete and verified file ``path`` the blob ``digest``."""
        path.replace(self.blob(digest))

    def link(self, commit: str, name: str, digest: str) -> None:
        """Make the blob ``digest`` the file ``name`` of ``commit``; a copy where links are not possible."""
        file = self.snapshot(commit) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        blob = self.blob(digest)
        try:
            file.symlink_to(os.path.relpath(blob, file.parent))
        except FileExistsError:
            return
        except OSError:
            shutil.copyfile(blob, file)

    def _listing(self, commit: str) -> Path:
        return self._storage / "template-lint" / f"{commit}.json"


def content_digest(path: Path, like: str) -> str:
    """The digest of a file, of the kind that ``like`` is: a git blob id, or sha256. Raises OSError."""
    with path.open("rb") as stream:
        if len(like) == 64:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        digest = hashlib.sha1(b"blob %d\0" % os.fstat(stream.fileno()).st_size, usedforsecurity=False)
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
        return digest.hexdigest()


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as stream:
        stream.write(text)
    Path(stream.name).replace(path)
