"""Everything a Hub can do wrong, and what must be said: shared by the test and the table of benchmarks/hub.py."""

from __future__ import annotations

from typing import NamedTuple

from tests.hubserver import (
    GATED,
    NO_REPOSITORY,
    NO_REVISION,
    SERVER_ERROR,
    UNAUTHORIZED,
    Fault,
    HubServer,
)
from tests.lock.toys import model

REPO = "org/model"


class Case(NamedTuple):
    """``where`` gets ``fault``; the exit code of a check must be ``code``, the line must hold ``said``."""

    name: str
    where: str
    fault: Fault
    code: int
    said: str


CASES = (
    Case("401, token refused", "GET /api/*", UNAUTHORIZED, 3, "HTTP 401 for org/model@main: the token was refused"),
    Case("401, private or missing", "GET /api/*", Fault(status=401), 3, "no repository org/model, or it is private"),
    Case("403, gated", "GET */resolve/*", GATED, 3, "is gated: "),
    Case("404, repository", "GET /api/*", NO_REPOSITORY, 3, "no repository org/model"),
    Case("404, revision", "GET /api/*", NO_REVISION, 3, "but no revision 'main'"),
    Case("429, Retry-After: 2", "GET /api/*", Fault(status=429, headers={"Retry-After": "2"}, times=1), 0, "stable"),
    Case("429, Retry-After: 3600", "GET /api/*", Fault(status=429, headers={"Retry-After": "3600"}), 3, "3600 seconds"),
    Case("500, then right", "GET /api/*", Fault(status=500, times=2), 0, "stable"),
    Case("500, for ever", "GET /api/*", SERVER_ERROR, 3, "HTTP 500 for org/model@main: the Hub has a problem"),
    Case("cut body, for ever", "GET */resolve/*", Fault(cut=10), 3, "could not get org/model@main"),
    Case("cut body, then right", "GET */resolve/*", Fault(cut=10, times=1), 0, "stable"),
    Case("wrong content, small file", "GET *chat_template.jinja", Fault(body=b"{{ evil }}"), 3, "arrived with digest"),
    Case("wrong content, large file", "GET /storage/*", Fault(body=b"{}"), 3, "arrived with digest"),
    Case("wrong content, then right", "GET /storage/*", Fault(body=b"{}", times=1), 0, "stable"),
    Case("slow body", "GET */resolve/*", Fault(delay=60), 3, "no answer in time"),
    Case("redirect for large files", "GET /none", Fault(), 0, "stable"),
    Case(
        "redirect in a circle",
        "GET /api/*",
        Fault(status=302, headers={"Location": "/api/models/org/model"}),
        3,
        "circle",
    ),
    Case("renamed, redirect", "renamed", Fault(), 3, "org/model is now neworg/new-name"),
    Case(
        "renamed, 404",
        "GET /api/*",
        Fault(status=404, headers={"X-Error-Message": "Repository was renamed to neworg/new-name"}),
        3,
        "org/model is now neworg/new-name",
    ),
    Case("malformed JSON", "GET /api/*", Fault(body=b'{"sha": '), 3, "it is not JSON"),
    Case("HTML instead of JSON", "GET /api/*", Fault(body=b"<html></html>"), 3, "it is not JSON"),
    Case("path out of the cache", "outside", Fault(), 3, "a path outside the repository"),
    Case("dead endpoint", "dead", Fault(), 3, "could not get org/model@main from"),
)


def prepare(hub: HubServer, case: Case) -> None:
    """Make ``hub`` do what the case says."""
    hub.add(REPO, model(), large=["tokenizer.json"])
    if case.where == "renamed":
        hub.add("neworg/new-name", model())
        hub.renamed[REPO] = "neworg/new-name"
    elif case.where == "outside":
        hub.extra_siblings.append("../../.bashrc")
    elif case.where == "dead":
        hub.stop()
    else:
        hub.fault(case.where, Fault(**vars(case.fault)))
