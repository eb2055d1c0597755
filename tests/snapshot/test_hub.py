"""What is fetched from a Hub, and how often it is asked: the real huggingface_hub client, a loopback server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from template_lint.snapshot.hub import fetch
from tests.hubserver import GATED, Fault, HubServer
from tests.snapshot.hub_models import FILES, PROMPT_FILES, REPO, TOKEN, cached_files, failure


def test_the_first_time_only_what_shapes_prompts_is_fetched(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.add(REPO, FILES)
    fetched = fetch(REPO, None)
    assert (fetched.commit, fetched.files) == (commit, PROMPT_FILES)
    assert {name: (fetched.folder / name).read_text() for name in PROMPT_FILES} == {n: FILES[n] for n in PROMPT_FILES}
    expected = [("GET", f"/api/models/{REPO}/revision/main")]
    expected += [("GET", f"/{REPO}/resolve/{commit}/{name}") for name in PROMPT_FILES]
    assert hub.requests == expected
    assert cached_files(tmp_path) == ["chat_template.jinja", "tokenizer_config.json", "tool_use.jinja"]


def test_the_second_time_a_branch_takes_one_request_and_a_commit_none(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    cold = fetch(REPO, "main")
    hub.clear()
    assert fetch(REPO, "main") == cold
    assert len(hub.requests) == 1
    hub.clear()
    assert fetch(REPO, commit) == cold
    assert hub.requests == []


def test_an_old_commit_is_fetched_as_it_was_and_then_known(hub: HubServer) -> None:
    old = hub.add(REPO, FILES)
    hub.add(REPO, {**FILES, "chat_template.jinja": "new"})
    fetched = fetch(REPO, old)
    assert (fetched.folder / "chat_template.jinja").read_text() == FILES["chat_template.jinja"]
    assert len(hub.requests) == 1 + len(PROMPT_FILES)
    hub.clear()
    assert fetch(REPO, old) == fetched
    assert hub.requests == []


def test_a_branch_that_moved_fetches_only_what_changed(hub: HubServer) -> None:
    hub.add(REPO, FILES)
    fetch(REPO, "main")
    new = hub.add(REPO, {**FILES, "chat_template.jinja": "new"})
    hub.clear()
    fetched = fetch(REPO, "main")
    assert fetched.commit == new
    assert (fetched.folder / "chat_template.jinja").read_text() == "new"
    assert [path.rpartition("/")[2] for method, path in hub.requests if method == "GET"][1:] == ["chat_template.jinja"]


def test_a_damaged_list_is_made_again(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.add(REPO, FILES)
    fetched = fetch(REPO, commit)
    (listing,) = (tmp_path / "hub").rglob(f"template-lint/{commit}.json")
    for text in ("", "[]", '{"looked_for": [], "files": []}', json.dumps({"files": ["../../x"]})):
        listing.write_text(text)
        hub.clear()
        assert fetch(REPO, commit) == fetched
        assert len(hub.requests) == 1


def test_a_repository_may_hold_nothing_that_shapes_prompts(hub: HubServer) -> None:
    hub.add(REPO, {"README.md": "x", "model.safetensors": "weights"})
    fetched = fetch(REPO, None)
    assert fetched.files == () and list(fetched.folder.iterdir()) == []
    assert len(hub.requests) == 1


def test_a_repository_may_have_no_owner(hub: HubServer) -> None:
    commit = hub.add("gpt2", FILES)
    assert fetch("gpt2", None).commit == commit


def test_an_endpoint_may_end_with_a_slash(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    assert fetch(REPO, None, endpoint=hub.url + "/").commit == commit
    hub.fault("*", GATED)
    assert f"access at {hub.url}/{REPO}," in str(failure(endpoint=hub.url + "/"))


def test_a_large_file_comes_by_redirect_without_the_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.add(REPO, {"tokenizer.json": "x" * 100_000}, large=["tokenizer.json"])
    fetched = fetch(REPO, None)
    assert (fetched.folder / "tokenizer.json").stat().st_size == 100_000
    tokens = dict(zip(hub.requests, hub.tokens, strict=True))
    stored = [token for (_method, path), token in tokens.items() if path.startswith("/storage/")]
    assert stored == [None]
    assert tokens[("GET", f"/api/models/{REPO}/revision/main")] == f"Bearer {TOKEN}"


def test_a_large_file_with_another_content_is_refused(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, {"tokenizer.json": b"right"}, large=["tokenizer.json"])
    hub.fault("GET /storage/*", Fault(body=b"wrong", times=2))
    error = failure()
    assert error.kind == "bad-response" and "tokenizer.json arrived with digest" in str(error)
    assert cached_files(tmp_path) == []
    assert (fetch(REPO, None).folder / "tokenizer.json").read_text() == "right"
