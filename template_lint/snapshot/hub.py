"""Hub repositories at a revision -> folders with their prompt-shaping files. With ``hub_http``, all of the network use.

Files lie in the ordinary huggingface_hub cache, so a model that transformers has loaded is not fetched again. The
library's downloader asks twice for each file, verifies only large ones, and retries a dead host for 23 seconds; here a
file is asked for once, by one request that lists what the commit holds, and each is compared with its digest.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from template_lint.errors import CannotCheckError, UsageError
from template_lint.snapshot.hub_cache import COMMIT, DIGEST, RepositoryCache, content_digest, shapes_prompt
from template_lint.snapshot.hub_errors import Question, explain, raise_bad_response, raise_renamed
from template_lint.snapshot.hub_http import MANY, Answer, Limits, Line
from template_lint.target import parse_target

Progress = Callable[[int, int, str], object]

THREADS = 8
LIMITS = Limits()
_MOST_LISTING_BYTES = 64 << 20
_MOST_FILE_BYTES = 128 << 20
_MANY_MODELS = 10


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The prompt-shaping files of one commit. ``files`` are sorted POSIX paths relative to ``folder``; all exist."""

    folder: Path
    commit: str
    files: tuple[str, ...]


class _Listed(NamedTuple):
    """A prompt-shaping file of a commit, and its digest where the Hub told it with the list."""

    name: str
    digest: str | None


def fetch(repo: str, revision: str | None, *, offline: bool = False, endpoint: str | None = None) -> Fetched:
    """Return the prompt-shaping files of ``repo`` (``org/name``) at ``revision`` (branch, tag or commit; None is main).

    Requests: 1 + 1 per file when cold, 1 for a known branch, 0 for a known 40-hex commit, 0 when ``offline`` is set
    (also by HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE). Like every huggingface_hub client this records what a branch
    points to under refs/ of the cache. The token is the one huggingface_hub finds (HF_TOKEN, or the login); it is sent
    to the endpoint and to no other host.

    Raises UsageError for a name that cannot be a repository or revision, and CannotCheckError with kind unreachable,
    gated, missing-revision, missing-repository, renamed, disabled, unauthorized, offline, rate-limited, bad-response or
    unreadable.
    """
    [result] = fetch_all([(repo, revision)], offline=offline, endpoint=endpoint)
    if isinstance(result, CannotCheckError):
        raise result
    return result


def fetch_all(
    wanted: Sequence[tuple[str, str | None]],
    *,
    offline: bool = False,
    endpoint: str | None = None,
    progress: Progress | None = None,
) -> list[Fetched | CannotCheckError]:
    """As fetch() for many, at most THREADS at a time: the files of each, or the error that it alone has.

    ``progress`` is called with (done, total, name) from this thread. Raises UsageError before any request.
    """
    from huggingface_hub import constants

    hub = (endpoint or constants.ENDPOINT).rstrip("/")
    questions = [
        Question(repo=repo, revision=revision or constants.DEFAULT_REVISION, endpoint=hub) for repo, revision in wanted
    ]
    for question in questions:
        _check_names(question)
    different = list(dict.fromkeys(questions))
    offline = offline or bool(constants.HF_HUB_OFFLINE)
    line = Line(hub, _limits(len(different)))
    root = Path(constants.HF_HUB_CACHE)

    def work(question: Question) -> Fetched | CannotCheckError:
        return _fetch_one(question, RepositoryCache(root, question.repo), line, offline)

    found: dict[Question, Fetched | CannotCheckError] = {}
    if len(different) < 2 or offline:
        for question in different:
            found[question] = work(question)
            _tell(progress, len(found), len(different), question)
        return [found[question] for question in questions]
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="hub") as pool:
        futures = {pool.submit(work, question): question for question in different}
        try:
            for future in as_completed(futures):
                found[futures[future]] = future.result()
                _tell(progress, len(found), len(different), futures[future])
        except BaseException:
            line.give_up("interrupted")
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[question] for question in questions]


def _tell(progress: Progress | None, done: int, total: int, question: Question) -> None:
    if progress is not None:
        progress(done, total, question.repo)


def _limits(count: int) -> Limits:
    limits = (
        LIMITS if count < _MANY_MODELS else LIMITS._replace(longest_wait=max(LIMITS.longest_wait, MANY.longest_wait))
    )
    if "HF_HUB_ETAG_TIMEOUT" in os.environ:
        from huggingface_hub import constants

        seconds = float(constants.HF_HUB_ETAG_TIMEOUT)
        limits = limits._replace(connect=seconds, silence=seconds, first_answer=max(seconds, limits.first_answer))
    return limits


def _fetch_one(question: Question, cache: RepositoryCache, line: Line, offline: bool) -> Fetched | CannotCheckError:
    try:
        if offline:
            return _fetch_offline(question, cache)
        if COMMIT.fullmatch(question.revision):
            listed = cache.listed(question.revision)
            if listed is not None:
                return Fetched(folder=cache.snapshot(question.revision), commit=question.revision, files=listed)
        return _fetch_online(question, cache, line)
    except CannotCheckError as error:
        return error
    except Exception as error:
        try:
            explained = explain(error, question)
        except CannotCheckError as renamed:
            return renamed
        if explained is None:
            raise
        return explained


def _check_names(question: Question) -> None:
    target = parse_target(f"hf:{question}")
    refs = Path("/refs")
    inside = Path(os.path.normpath(refs / question.revision)).is_relative_to(refs)
    if (target.repo, target.revision) != (question.repo, question.revision) or not inside or "\\" in question.revision:
        raise UsageError(f"{str(question)!r} is not a Hub repository and revision. Write org/name@revision.")
    try:
        parts = urlsplit(question.endpoint)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError(f"the Hub endpoint {question.endpoint!r} is not an http(s) address. Correct HF_ENDPOINT.")


def _fetch_offline(question: Question, cache: RepositoryCache) -> Fetched:
    commit = cache.commit_of(question.revision)
    files = None
    if commit is not None:
        files = cache.listed(commit)
        if files is None:
            files = cache.found(commit)
    if commit is None or files is None:
        raise CannotCheckError(
            f"{question} is not in the cache ({cache.root}) and offline mode is on. "
            f"Run `template-lint check hf:{question}` once online.",
            kind="offline",
        )
    return Fetched(folder=cache.snapshot(commit), commit=commit, files=files)


def _fetch_online(question: Question, cache: RepositoryCache, line: Line) -> Fetched:
    commit, files = _listing(question, line)
    folder = cache.snapshot(commit)
    if cache.listed(commit) is None:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            _bring(file, commit, question, cache, line)
    names = tuple(file.name for file in files)
    cache.remember(question.revision, commit, names)
    return Fetched(folder=folder, commit=commit, files=names)


def _listing(question: Question, line: Line) -> tuple[str, list[_Listed]]:
    """Return the commit and its prompt-shaping files, sorted. Raises CannotCheckError for what no Hub would answer."""
    pieces: list[bytes] = []

    def sink() -> Callable[[bytes], None]:
        pieces.clear()
        return pieces.append

    revision = quote(question.revision, safe="")
    address = f"{question.endpoint}/api/models/{question.repo}/revision/{revision}?blobs=true"
    line.get(address, sink, most=_MOST_LISTING_BYTES)
    try:
        info = json.loads(b"".join(pieces))
    except (ValueError, RecursionError):
        raise_bad_response(question, "it is not JSON")
    if not isinstance(info, dict):
        raise_bad_response(question, "it is no JSON object")
    commit, siblings, name = info.get("sha"), info.get("siblings"), info.get("id")
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit) or not isinstance(siblings, list):
        raise_bad_response(question, "it names no commit or no files")
    if COMMIT.fullmatch(question.revision) and commit != question.revision:
        raise_bad_response(question, f"it is about commit {commit}")
    if isinstance(name, str) and name.lower() != question.repo.lower() and _is_repository(name):
        raise_renamed(question, name)
    files = {}
    for sibling in siblings:
        if not isinstance(sibling, dict) or not isinstance(sibling.get("rfilename"), str):
            raise_bad_response(question, "it lists a file without a name")
        path = sibling["rfilename"]
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise_bad_response(question, f"it lists the file {path!r}, a path outside the repository")
        if shapes_prompt(path):
            files[path] = _Listed(path, _digest_of(sibling))
    return commit, [files[path] for path in sorted(files)]


def _is_repository(name: str) -> bool:
    try:
        return parse_target(f"hf:{name}").repo == name
    except UsageError:
        return False


def _digest_of(sibling: Mapping[str, Any]) -> str | None:
    large = sibling.get("lfs")
    digest = large.get("sha256") if isinstance(large, dict) else sibling.get("blobId")
    return digest if isinstance(digest, str) and DIGEST.fullmatch(digest) else None


def _bring(file: _Listed, commit: str, question: Question, cache: RepositoryCache, line: Line) -> None:
    """Make sure that a file of a commit is in the cache, and is what the Hub announced."""
    present = cache.snapshot(commit) / file.name
    if file.digest is not None and present.exists() and content_digest(present, file.digest) == file.digest:
        return
    if file.digest is None and present.exists():
        return
    if present.is_symlink() or present.exists():
        present.unlink()
    if file.digest is not None:
        blob = cache.blob(file.digest)
        if blob.is_file() and content_digest(blob, file.digest) == file.digest:
            cache.link(commit, file.name, file.digest)
            return
    address = f"{question.endpoint}/{question.repo}/resolve/{commit}/{quote(file.name)}"
    for last in (False, True):
        with cache.incoming() as path:
            answer = _download(address, path, line)
            digest = file.digest or _announced(answer.headers)
            if digest is None:
                raise_bad_response(question, f"it announces no digest of {file.name}")
            found = content_digest(path, digest)
            if found == digest:
                cache.keep(path, digest)
                cache.link(commit, file.name, digest)
                return
        if last:
            detail = f"{file.name} arrived with digest {found[:12]}..., announced was {digest[:12]}..."
            raise_bad_response(question, detail)


def _download(address: str, path: Path, line: Line) -> Answer:
    with path.open("xb") as stream:

        def sink() -> Callable[[bytes], object]:
            stream.seek(0)
            stream.truncate()
            return stream.write

        return line.get(address, sink, most=_MOST_FILE_BYTES)


def _announced(headers: Mapping[str, str]) -> str | None:
    """The digest of a file in the headers of the Hub, where its list had none."""
    for name in ("x-linked-etag", "etag"):
        digest = headers.get(name, "").removeprefix("W/").strip('"')
        if DIGEST.fullmatch(digest):
            return digest
    return None
