"""Many models at once: what one of them suffers the others do not, and a Hub in trouble is left in peace."""

from __future__ import annotations

import socket
import time
from email.utils import formatdate

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot import hub as hub_module
from template_lint.snapshot.hub import Fetched, fetch_all
from template_lint.snapshot.hub_http import Limits, retry_after
from tests.hubserver import GATED, NO_REPOSITORY, UNAUTHORIZED, Fault, HubServer
from tests.snapshot.hub_models import QUICK, TOKEN

FILES = {"chat_template.jinja": "{{ messages }}", "tokenizer_config.json": "{}", "model.safetensors": "weights"}
FIFTY = [(f"org/model-{number:02d}", None) for number in range(50)]


def fill(hub: HubServer) -> None:
    for number, (repo, _) in enumerate(FIFTY):
        hub.add(repo, {**FILES, "chat_template.jinja": f"{{{{ {number} }}}}"})


def kinds(results: list[Fetched | CannotCheckError]) -> list[str]:
    return [result.kind if isinstance(result, CannotCheckError) else "ok" for result in results]


def test_fifty_models_cold_take_one_request_and_one_for_each_file(hub: HubServer) -> None:
    fill(hub)
    results = fetch_all(FIFTY)
    assert kinds(results) == ["ok"] * 50
    assert len(hub.requests) == 50 * (1 + 2)
    for number, result in enumerate(results):
        assert isinstance(result, Fetched)
        assert (result.folder / "chat_template.jinja").read_text() == f"{{{{ {number} }}}}"
    hub.clear()
    assert fetch_all(FIFTY) == results
    assert len(hub.requests) == 50
    hub.clear()
    assert fetch_all([(repo, r.commit) for (repo, _), r in zip(FIFTY, results, strict=True)]) == results  # type: ignore[union-attr]
    assert hub.requests == []


def test_a_model_asked_for_twice_is_fetched_once(hub: HubServer) -> None:
    fill(hub)
    first, second = fetch_all([FIFTY[0], FIFTY[0]])
    assert first == second and len(hub.requests) == 3


def test_each_model_has_its_own_answer(hub: HubServer) -> None:
    fill(hub)
    hub.fault("GET /api/models/org/model-03/*", GATED)
    hub.fault("GET /api/models/org/model-07/*", NO_REPOSITORY)
    hub.fault("GET /org/model-09/*", Fault(status=500))
    hub.fault("GET /org/model-11/*chat_template.jinja", Fault(body=b"other"))
    found = kinds(fetch_all(FIFTY))
    wrong = {3: "gated", 7: "missing-repository", 9: "unreachable", 11: "bad-response"}
    assert found == [wrong.get(number, "ok") for number in range(50)]


def test_progress_counts_every_model_once(hub: HubServer) -> None:
    fill(hub)
    told: list[tuple[int, int, str]] = []
    fetch_all(FIFTY, progress=lambda *step: told.append(step))
    assert [step[0] for step in told] == list(range(1, 51))
    assert {step[1] for step in told} == {50}
    assert {step[2] for step in told} == {repo for repo, _ in FIFTY}


@pytest.mark.parametrize("wait", ["1", "date"])
def test_a_pause_that_the_hub_asks_for_is_kept_by_all(hub: HubServer, wait: str) -> None:
    fill(hub)
    asked = "1" if wait == "1" else formatdate(time.time() + 2, usegmt=True)
    hub.fault("GET /api/models/org/model-00/*", Fault(status=429, headers={"Retry-After": asked}, times=1))
    started = time.monotonic()
    results = fetch_all(FIFTY)
    assert kinds(results) == ["ok"] * 50
    assert time.monotonic() - started >= 0.9
    assert len(hub.requests) == 50 * 3 + 1


def test_a_pause_too_long_to_wait_for_is_said(hub: HubServer) -> None:
    fill(hub)
    hub.fault("GET /api/models/org/model-00/*", Fault(status=429, headers={"Retry-After": "3600"}))
    started = time.monotonic()
    [error] = fetch_all(FIFTY[:1])
    assert time.monotonic() - started < 10
    assert isinstance(error, CannotCheckError) and "Run again in 3600 seconds" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"ratelimit": '"api";r=0;t=55'}, 55.0),
        ({}, None),
    ],
)
def test_how_a_hub_asks_for_a_pause(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_dead_hub_is_found_dead_once(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", Limits())
    hub.stop()
    started = time.monotonic()
    assert kinds(fetch_all(FIFTY)) == ["unreachable"] * 50
    assert time.monotonic() - started < 10


def test_a_silent_hub_is_given_up_for_all_at_once(monkeypatch: pytest.MonkeyPatch, hub: HubServer) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", Limits(connect=0.5, first_answer=1.0))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(100)
        started = time.monotonic()
        results = fetch_all(FIFTY, endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - started < 8  # one after the other they would take 9 and more
    assert kinds(results) == ["unreachable"] * 50
    assert all("no answer in time" in str(error) for error in results)


def test_a_hub_that_always_fails_is_not_asked_five_times_for_each(hub: HubServer) -> None:
    fill(hub)
    hub.fault("*", Fault(status=503))
    assert kinds(fetch_all(FIFTY)) == ["unreachable"] * 50
    assert len(hub.requests) < 50 + 8 * 4


def test_a_hub_that_dies_on_the_way_is_not_asked_for_the_rest(hub: HubServer) -> None:
    fill(hub)
    assert kinds(fetch_all(FIFTY[:5])) == ["ok"] * 5
    hub.fault("GET /api/models/org/model-1*", Fault(cut=0))
    hub.fault("GET /api/models/org/model-2*", Fault(cut=0))
    found = kinds(fetch_all(FIFTY))
    assert found[10:30] == ["unreachable"] * 20
    assert set(found) <= {"ok", "unreachable"}


def test_a_drip_is_no_answer(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", QUICK._replace(answer=0.5, pauses=()))
    fill(hub)
    hub.fault("GET */resolve/*", Fault(drip=0.1))
    started = time.monotonic()
    [error] = fetch_all(FIFTY[:1])
    assert time.monotonic() - started < 20  # as many drips as bytes would take minutes
    assert isinstance(error, CannotCheckError) and "the answer is too slow" in str(error)


def test_an_answer_without_end_is_cut_off(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "_MOST_FILE_BYTES", 1000)
    hub.add("org/model", {"tokenizer.json": "x" * 5000})
    [error] = fetch_all([("org/model", None)])
    assert isinstance(error, CannotCheckError) and "longer than 1,000 bytes" in str(error)


def test_a_renamed_repository_is_said_to_be_renamed(hub: HubServer) -> None:
    hub.add("neworg/new-name", FILES)
    hub.renamed["org/old"] = "neworg/new-name"
    [error] = fetch_all([("org/old", None)])
    assert isinstance(error, CannotCheckError) and error.kind == "renamed"
    assert str(error).startswith(f"org/old is now neworg/new-name on {hub.url}.")


def test_a_404_that_tells_the_new_name(hub: HubServer) -> None:
    moved = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "This model was renamed to 'neworg/new-name'."}
    hub.fault("GET /api/*", Fault(status=404, headers=moved))
    [error] = fetch_all([("org/old", None)])
    assert isinstance(error, CannotCheckError) and "org/old is now neworg/new-name on" in str(error)


def test_the_token_stays_with_the_endpoint(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.add("org/model", {"tokenizer.json": "x" * 1000, "chat_template.jinja": "y"}, large=["tokenizer.json"])
    foreign = f"{hub.storage_url}/api/models/org/model/revision/main"
    hub.fault("GET /api/models/org/moved/*", Fault(status=302, headers={"Location": foreign}))
    fetch_all([("org/model", None), ("org/moved", None)])
    by_host = list(zip(hub.hosts, hub.tokens, strict=True))
    assert {token for host, token in by_host if host.startswith("localhost")} == {None}
    assert {token for host, token in by_host if host.startswith("127.")} == {f"Bearer {TOKEN}"}
    assert len({host for host, _ in by_host}) == 2


@pytest.mark.parametrize("token", [TOKEN, f"{TOKEN}\nX-Evil: 1", f"{TOKEN}é"])
def test_no_error_holds_the_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    import traceback

    monkeypatch.setenv("HF_TOKEN", token)
    fill(hub)
    hub.fault("GET /api/models/org/model-00/*", UNAUTHORIZED)
    hub.fault("GET /api/models/org/model-01/*", Fault(cut=0))
    hub.fault("GET /api/models/org/model-02/*", Fault(body=b"<html>"))
    for error in fetch_all(FIFTY[:3]):
        assert isinstance(error, CannotCheckError)
        assert "notARealToken" not in "".join(traceback.format_exception(error))


def test_a_hub_without_digests_in_its_list_is_checked_by_its_headers(hub: HubServer) -> None:
    hub.tells_digests = False
    hub.add("org/model", {"tokenizer.json": "x" * 1000, "chat_template.jinja": "y"}, large=["tokenizer.json"])
    [found] = fetch_all([("org/model", None)])
    assert isinstance(found, Fetched) and len(hub.requests) == 4
    hub.add("org/other", {"chat_template.jinja": "y"})
    hub.fault("GET /org/other/*", Fault(body=b"z"))
    [error] = fetch_all([("org/other", None)])
    assert isinstance(error, CannotCheckError) and error.kind == "bad-response"


def test_a_file_damaged_in_the_cache_is_fetched_again(hub: HubServer) -> None:
    hub.add("org/model", FILES)
    [found] = fetch_all([("org/model", None)])
    assert isinstance(found, Fetched)
    (found.folder / "chat_template.jinja").resolve().write_text("damaged")
    hub.add("org/model", {**FILES, "README.md": "new"})
    hub.clear()
    [again] = fetch_all([("org/model", None)])
    assert isinstance(again, Fetched)
    assert (again.folder / "chat_template.jinja").read_text() == FILES["chat_template.jinja"]
    assert len(hub.requests) == 2
