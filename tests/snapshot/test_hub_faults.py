"""What a Hub can do wrong, and what users can ask wrong: one sentence each, and nothing left that looks whole."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants

from template_lint.errors import UsageError
from template_lint.snapshot import hub as hub_module
from template_lint.snapshot.hub import fetch
from tests.hubserver import GATED, NO_REPOSITORY, RATE_LIMITED, SERVER_ERROR, UNAUTHORIZED, Fault, HubServer
from tests.snapshot.hub_models import FILES, QUICK, REPO, cached_files, failure

FAULTS = [
    ("GET /api/*", GATED, "gated", "Ask for access at {url}/org/model, then log in with `hf auth login` or set"),
    ("GET */resolve/*", GATED, "gated", "Ask for access at {url}/org/model"),
    ("GET */resolve/*", Fault(status=401, headers=GATED.headers), "gated", "Ask for access"),
    ("GET /api/*", NO_REPOSITORY, "missing-repository", "{url} has no repository org/model, or it is private."),
    ("GET /api/*", UNAUTHORIZED, "unauthorized", "HTTP 401 for org/model@main: the token was refused"),
    ("GET */resolve/*", UNAUTHORIZED, "unauthorized", "HTTP 401 for org/model@main: the token was refused"),
    ("GET /api/*", Fault(status=403), "unauthorized", "HTTP 403"),
    ("GET /api/*", RATE_LIMITED, "rate-limited", "HTTP 429 for org/model@main: too many requests. Run again in 7 sec"),
    ("GET /api/*", SERVER_ERROR, "unreachable", "HTTP 500 for org/model@main: the Hub has a problem."),
    ("GET /api/*", Fault(status=418), "bad-response", "HTTP 418 for org/model@main, which a Hub does not."),
    (
        "GET /api/*",
        Fault(body=b"<html>"),
        "bad-response",
        "answer of {url} for org/model@main cannot be right: it is",
    ),
    ("GET /api/*", Fault(body=b"[" * 100_000), "bad-response", "it is not JSON"),
    ("GET /api/*", Fault(body=b"[]"), "bad-response", "it is no JSON object"),
    ("GET /api/*", Fault(body=b'{"id": "x"}'), "bad-response", "it names no commit or no files"),
    ("GET /api/*", Fault(body=b'{"id": "x", "sha": "../x", "siblings": []}'), "bad-response", "it names no commit"),
    ("GET */resolve/*", Fault(status=200), "bad-response", "arrived with digest e69de29bb2d1..., announced was"),
    (
        "GET /api/*",
        Fault(status=307, headers={"Location": "/api/models/org/model"}),
        "unreachable",
        "circle",
    ),
    ("GET /api/*", Fault(status=302, headers={"Location": "file:///etc/passwd"}), "unreachable", "no web address"),
]


@pytest.mark.parametrize(("where", "fault", "kind", "message"), FAULTS)
def test_what_a_hub_does_wrong_has_a_kind_and_a_sentence(
    hub: HubServer, where: str, fault: Fault, kind: str, message: str
) -> None:
    hub.add(REPO, FILES)
    hub.fault(where, fault)
    error = failure()
    assert error.kind == kind
    assert message.format(url=hub.url) in str(error)


def test_a_missing_revision_is_said_to_be_missing(hub: HubServer) -> None:
    hub.add(REPO, FILES)
    error = failure("v9")
    assert error.kind == "missing-revision"
    assert str(error).startswith(f"{hub.url} has {REPO} but no revision 'v9'.")
    assert failure("b" * 40).kind == "missing-revision"


def test_an_answer_about_another_commit_is_refused(hub: HubServer) -> None:
    asked = "c" * 40
    hub.add(REPO, FILES, revision=asked)
    assert failure(asked).kind == "bad-response"


def test_one_server_error_is_forgiven(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    hub.fault("GET /api/*", Fault(status=503, times=1))
    assert fetch(REPO, None).commit == commit


def test_a_short_body_leaves_nothing_that_looks_whole(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, {"chat_template.jinja": "x" * 5_000})
    hub.fault("GET *chat_template.jinja", Fault(body=b"x" * 1_000))
    assert failure().kind == "bad-response"
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("GET *chat_template.jinja", Fault(cut=1_000)),
        ("GET *chat_template.jinja", Fault(delay=2)),
        ("GET *chat_template.jinja", Fault(body=b"y" * 5_000)),
        ("GET */resolve/*", Fault(status=500)),
        ("GET */resolve/*", Fault(status=429, headers={"Retry-After": "0"})),
    ],
    ids=["cut", "slow", "other", "500", "429"],
)
def test_a_passing_fault_during_download_is_forgiven(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, where: str, fault: Fault
) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", QUICK._replace(silence=1.0))
    hub.add(REPO, {"chat_template.jinja": "x" * 5_000})
    hub.fault(where, replace(fault, times=1))
    assert (fetch(REPO, None).folder / "chat_template.jinja").read_text() == "x" * 5_000
    assert len(hub.requests) == 3


def test_a_refused_connection_is_said_at_once(hub: HubServer) -> None:
    hub.stop()
    started = time.monotonic()
    error = failure()
    assert time.monotonic() - started < 10
    assert error.kind == "unreachable"
    assert f"could not get {REPO}@main from {hub.url}: Connection refused." in str(error)


def test_a_silent_host_is_given_up_in_time(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", QUICK._replace(connect=0.2, first_answer=0.5))
    hub.fault("GET /api/*", Fault(delay=30))
    started = time.monotonic()
    error = failure()
    assert time.monotonic() - started < 10
    assert error.kind == "unreachable" and "no answer in time" in str(error)


def test_an_unknown_host_is_unreachable(hub: HubServer) -> None:
    error = failure(endpoint="http://hub.invalid")
    assert error.kind == "unreachable" and "http://hub.invalid" in str(error)


def test_a_cache_that_cannot_be_written_is_said(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.add(REPO, FILES)
    (tmp_path / "plain").write_text("")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "plain"))
    error = failure()
    assert error.kind == "unreadable" and "cannot be stored in the cache: Not a directory" in str(error)


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "additional_chat_templates/../../x.jinja"])
def test_siblings_outside_the_repository_are_refused(hub: HubServer, tmp_path: Path, name: str) -> None:
    hub.add(REPO, FILES)
    hub.extra_siblings.append(name)
    error = failure()
    assert error.kind == "bad-response" and repr(name) in str(error)
    assert len(hub.requests) == 1
    assert not (tmp_path / "hub").exists()


@pytest.mark.parametrize(
    ("repo", "revision"),
    [("../x", None), ("org/../x", None), ("a/b/c", None), ("org/x@y", None), (REPO, "../../x"), (REPO, "/etc/passwd")],
)
def test_names_that_lead_out_of_the_cache_are_wrong_usage(hub: HubServer, repo: str, revision: str | None) -> None:
    for offline in (False, True):
        with pytest.raises(UsageError):
            fetch(repo, revision, offline=offline)
    assert hub.requests == []


@pytest.mark.parametrize("endpoint", ["hub.example", "ftp://hub.example", "http://", "http://a:b"])
def test_an_endpoint_that_is_no_address_is_wrong_usage(hub: HubServer, endpoint: str) -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT"):
        fetch(REPO, None, endpoint=endpoint)
