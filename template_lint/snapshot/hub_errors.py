"""Errors of huggingface_hub and of the HTTP library below it -> one line that says what was asked, what happened, what
to do. Knows both libraries that huggingface_hub uses (requests up to 0.36, httpx2 in 2.x) without importing either.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import NoReturn

from template_lint.errors import CannotCheckError, TemplateLintError

_LOGIN = "log in with `hf auth login` or set HF_TOKEN"
_SETTINGS = "HF_ENDPOINT and the proxy settings"
_STORAGE_ERRORS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR})


@dataclass(frozen=True, kw_only=True)
class Question:
    """What was asked of which Hub: ``repo`` is org/name, ``revision`` a branch, tag or commit."""

    repo: str
    revision: str
    endpoint: str

    def __str__(self) -> str:
        return f"{self.repo}@{self.revision}"


def raise_bad_response(question: Question, detail: str) -> NoReturn:
    """Raise the error for an answer that arrived but cannot be true."""
    raise CannotCheckError(
        f"the answer of {question.endpoint} for {question} cannot be right: {detail}. "
        f"Run again; if it stays, check {_SETTINGS}.",
        kind="bad-response",
    )


def explain(error: Exception, question: Question) -> CannotCheckError | None:
    """Return the error to show instead of ``error``; None where ``error`` is our own or does not come from the Hub."""
    from huggingface_hub import errors

    if isinstance(error, TemplateLintError):
        return None
    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    asked, hub = str(question), question.endpoint
    # The order matters: a gated repository is a missing one too, and both are HTTP errors.
    if isinstance(error, errors.GatedRepoError):
        return CannotCheckError(
            f"{asked} is gated: {hub} gives its files only to accounts with access. "
            f"Ask for access at {hub}/{question.repo}, then {_LOGIN}.",
            kind="gated",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return CannotCheckError(
            f"{hub} has {question.repo} but no revision {question.revision!r}. "
            "Name a branch, a tag or a full commit of the repository.",
            kind="missing-revision",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return CannotCheckError(
            f"{hub} has no repository {question.repo}, or it is private. Check the name; if it is private, {_LOGIN}.",
            kind="missing-repository",
        )
    if isinstance(error, errors.HFValidationError):
        return CannotCheckError(
            f"{question.repo!r} cannot be the name of a Hub repository. Check the name.", kind="missing-repository"
        )
    if isinstance(error, errors.HfHubHTTPError) and error.response is not None:
        return _explain_status(error.response.status_code, error.response.headers.get("Retry-After"), question)
    if isinstance(error, (errors.FileMetadataError, ValueError, KeyError, TypeError, AttributeError)):
        return CannotCheckError(
            f"{hub} did not answer for {asked} as a Hub does ({type(error).__name__}). Check {_SETTINGS}.",
            kind="bad-response",
        )
    if isinstance(error, OSError) and error.errno in _STORAGE_ERRORS:
        return CannotCheckError(
            f"the files of {asked} cannot be stored in the cache: {os.strerror(error.errno)}. "
            "Make room, or set HF_HOME to a folder that can be written.",
        )
    # HfHubHTTPError derives from the base error of whichever HTTP library is in use.
    network_errors = (OSError, RuntimeError, errors.XetDownloadError, *errors.HfHubHTTPError.__bases__)
    if isinstance(error, network_errors):
        return CannotCheckError(
            f"could not get {asked} from {hub}: {_innermost(error)}. "
            f"Check the network, {_SETTINGS}, or use --offline to check what is cached.",
            kind="unreachable",
        )
    return None


def _explain_status(status: int, retry_after: str | None, question: Question) -> CannotCheckError:
    answer = f"{question.endpoint} answered HTTP {status} for {question}"
    if status in (401, 403):
        return CannotCheckError(
            f"{answer}: the token was refused or gives no access. "
            "Log in again with `hf auth login`, correct HF_TOKEN, or unset it.",
            kind="unauthorized",
        )
    if status == 429:
        wait = f"{int(retry_after)} seconds" if retry_after and retry_after.isdecimal() else "a few minutes"
        return CannotCheckError(
            f"{answer}: too many requests. Run again in {wait}; requests with a token have higher limits.",
            kind="rate-limited",
        )
    if status >= 500:
        return CannotCheckError(f"{answer}: the Hub has a problem. Run again later.", kind="unreachable")
    return CannotCheckError(f"{answer}, which a Hub does not. Check {_SETTINGS}.", kind="bad-response")


def _innermost(error: BaseException) -> str:
    """Say the innermost cause in a few words. Never a whole message: those can carry signed addresses."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__
