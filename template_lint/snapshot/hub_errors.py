"""What went wrong with a Hub -> one line that says what was asked, what happened, what to do."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from template_lint.errors import CannotCheckError
from template_lint.snapshot.hub_http import Broken, Refused, retry_after

_LOGIN = "log in with `hf auth login` or set HF_TOKEN"
_SETTINGS = "HF_ENDPOINT and the proxy settings"
_STORAGE_ERRORS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR})
_MOVED = re.compile(r"\b(?:moved|renamed)\b.{0,40}?([\w][\w.-]{0,95}/[\w][\w.-]{0,95})", re.ASCII)
_BAD_CREDENTIALS = "invalid credentials in authorization header"


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


def raise_renamed(question: Question, name: str) -> NoReturn:
    """Raise the error for a repository that has another name now."""
    raise CannotCheckError(
        f"{question.repo} is now {name} on {question.endpoint}. Write the new name: whoever takes the old one would be "
        "checked in its place.",
        kind="renamed",
    )


def explain(error: Exception, question: Question) -> CannotCheckError | None:
    """Return the error to show instead of ``error``; None where ``error`` does not come from the Hub or the cache."""
    if isinstance(error, Refused):
        return _explain_refusal(error, question)
    if isinstance(error, Broken):
        return CannotCheckError(
            f"could not get {question} from {question.endpoint}: {error}. "
            f"Check the network, {_SETTINGS}, or use --offline to check what is cached.",
            kind="unreachable",
        )
    if isinstance(error, OSError):
        reason = os.strerror(error.errno) if error.errno in _STORAGE_ERRORS else type(error).__name__
        return CannotCheckError(
            f"the files of {question} cannot be stored in the cache: {reason}. "
            "Make room, or set HF_HOME to a folder that can be written.",
        )
    return None


def _explain_refusal(error: Refused, question: Question) -> CannotCheckError:
    """The codes are those that huggingface_hub itself goes by (hf_raise_for_status of 0.36 and 2.4)."""
    hub, status = question.endpoint, error.status
    code = error.headers.get("x-error-code", "")
    message = error.headers.get("x-error-message", "")
    moved = _MOVED.search(message)
    if moved is not None and status in (301, 302, 307, 308, 404, 410):
        raise_renamed(question, moved[1])
    if code == "GatedRepo":
        return CannotCheckError(
            f"{question} is gated: {hub} gives its files only to accounts with access. "
            f"Ask for access at {hub}/{question.repo}, then {_LOGIN}.",
            kind="gated",
        )
    if code == "RevisionNotFound":
        return CannotCheckError(
            f"{hub} has {question.repo} but no revision {question.revision!r}. "
            "Name a branch, a tag or a full commit of the repository.",
            kind="missing-revision",
        )
    # Without an account the Hub says 401 of a repository that does not exist, as of one that is private.
    if code == "RepoNotFound" or status == 404 or (status == 401 and message.lower() != _BAD_CREDENTIALS):
        return CannotCheckError(
            f"{hub} has no repository {question.repo}, or it is private. Check the name; if it is private, {_LOGIN}.",
            kind="missing-repository",
        )
    if message == "Access to this resource is disabled.":
        return CannotCheckError(f"{hub} has disabled {question.repo}. Use another model.", kind="disabled")
    return _explain_status(status, error.headers, question)


def _explain_status(status: int, headers: Mapping[str, str], question: Question) -> CannotCheckError:
    answer = f"{question.endpoint} answered HTTP {status} for {question}"
    if status in (401, 403):
        return CannotCheckError(
            f"{answer}: the token was refused or gives no access. "
            "Log in again with `hf auth login`, correct HF_TOKEN, or unset it.",
            kind="unauthorized",
        )
    if status == 429:
        asked = retry_after(headers)
        wait = "a few minutes" if asked is None else f"{asked:.0f} seconds"
        return CannotCheckError(
            f"{answer}: too many requests. Run again in {wait}; requests with a token have higher limits.",
            kind="rate-limited",
        )
    if status >= 500:
        return CannotCheckError(f"{answer}: the Hub has a problem. Run again later.", kind="unreachable")
    return CannotCheckError(f"{answer}, which a Hub does not. Check {_SETTINGS}.", kind="bad-response")
