"""A Hub repository at one revision -> a folder with its prompt-shaping files. The only module that uses the network.

Files lie in the ordinary huggingface_hub cache, so a model that transformers has loaded is not fetched again.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from template_lint.errors import CannotCheckError, UsageError
from template_lint.snapshot.hub_cache import COMMIT, RepositoryCache, shapes_prompt
from template_lint.snapshot.hub_errors import Question, explain, raise_bad_response
from template_lint.target import parse_target

if TYPE_CHECKING:
    from huggingface_hub.hf_api import ModelInfo

_SHA256 = re.compile(r"[0-9a-f]{64}")
# A Hub that is up answers the first question well within this; HF_HUB_ETAG_TIMEOUT overrides it.
_TIMEOUT_SECONDS = 5.0
_RETRY_PAUSE_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The prompt-shaping files of one commit. ``files`` are sorted POSIX paths relative to ``folder``; all exist."""

    folder: Path
    commit: str
    files: tuple[str, ...]


def fetch(repo: str, revision: str | None, *, offline: bool = False, endpoint: str | None = None) -> Fetched:
    """Return the prompt-shaping files of ``repo`` (``org/name``) at ``revision`` (branch, tag or commit; None is main).

    Requests: 1 + 2 per file when cold, 1 for a known branch, 0 for a known 40-hex commit, 0 when ``offline`` is set
    (also by HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE). Like every huggingface_hub client this records what a branch
    points to under refs/ of the cache. The token is the one huggingface_hub finds (HF_TOKEN, or the login).

    Raises UsageError for a name that cannot be a repository or revision, and CannotCheckError with kind unreachable,
    gated, missing-revision, missing-repository, unauthorized, offline, rate-limited, bad-response or unreadable.
    """
    from huggingface_hub import constants

    question = Question(
        repo=repo,
        revision=constants.DEFAULT_REVISION if revision is None else revision,
        endpoint=(endpoint or constants.ENDPOINT).rstrip("/"),
    )
    _check_names(question)
    cache = RepositoryCache(Path(constants.HF_HUB_CACHE), repo)
    if offline or constants.HF_HUB_OFFLINE:
        return _fetch_offline(question, cache)
    if COMMIT.fullmatch(question.revision):
        listed = cache.listed(question.revision)
        if listed is not None:
            return Fetched(folder=cache.snapshot(question.revision), commit=question.revision, files=listed)
    try:
        with _quiet_hub():
            return _fetch_online(question, cache)
    except Exception as error:
        explained = explain(error, question)
        if explained is None:
            raise
        raise explained from error


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


def _fetch_online(question: Question, cache: RepositoryCache) -> Fetched:
    from huggingface_hub import hf_hub_download

    # hf_hub_download alone would find the commit too, but against a dead host it retries for 23 seconds.
    commit, files = _listing(_model_info(question), question)
    folder = cache.snapshot(commit)
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        if not (folder / name).exists():
            path = hf_hub_download(
                question.repo,
                name,
                revision=commit,
                cache_dir=cache.root,
                endpoint=question.endpoint,
                etag_timeout=_timeout(),
            )
            _verify(Path(path), name, question)
    cache.remember(question.revision, commit, files)
    return Fetched(folder=folder, commit=commit, files=files)


def _model_info(question: Question) -> ModelInfo:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi(endpoint=question.endpoint)
    try:
        return api.model_info(question.repo, revision=question.revision, timeout=_timeout())
    except HfHubHTTPError as error:
        if error.response is None or error.response.status_code < 500:
            raise
    time.sleep(_RETRY_PAUSE_SECONDS)
    return api.model_info(question.repo, revision=question.revision, timeout=_timeout())


def _listing(info: ModelInfo, question: Question) -> tuple[str, tuple[str, ...]]:
    """Return the commit and its prompt-shaping files, sorted. Raises CannotCheckError for what no Hub would answer."""
    commit = info.sha or ""
    if not COMMIT.fullmatch(commit) or info.siblings is None:
        raise_bad_response(question, "it names no commit or no files")
    if COMMIT.fullmatch(question.revision) and commit != question.revision:
        raise_bad_response(question, f"it is about commit {commit}")
    names = [sibling.rfilename for sibling in info.siblings]
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise_bad_response(question, f"it lists the file {name!r}, a path outside the repository")
    return commit, tuple(sorted({name for name in names if shapes_prompt(name)}))


def _timeout() -> float:
    from huggingface_hub import constants

    return float(constants.HF_HUB_ETAG_TIMEOUT) if "HF_HUB_ETAG_TIMEOUT" in os.environ else _TIMEOUT_SECONDS


def _verify(path: Path, name: str, question: Question) -> None:
    """Compare a large file with its sha256, which the cache uses as the name of the blob that ``path`` links to."""
    if not path.is_symlink():
        return
    # One step only: in a shared blob store the blob is a link itself, to a file named by another hash.
    blob = path.parent / path.readlink()
    if not _SHA256.fullmatch(blob.name):
        return
    with blob.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != blob.name:
        path.unlink()
        blob.unlink()
        raise_bad_response(question, f"{name} arrived with sha256 {found[:12]}..., announced was {blob.name[:12]}...")


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Keep huggingface_hub off stderr: what matters of its warnings is in the error that we raise."""
    from huggingface_hub.utils import logging
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    verbosity = logging.get_verbosity()
    bars_were_off = are_progress_bars_disabled()
    logging.set_verbosity(logging.log_levels["critical"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        disable_progress_bars()
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if not bars_were_off:
                enable_progress_bars()
