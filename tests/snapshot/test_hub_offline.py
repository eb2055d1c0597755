"""Hub models without a network: what an earlier run, or another client, left in the cache."""

from __future__ import annotations

import pytest
from huggingface_hub import constants, hf_hub_download

from template_lint.snapshot.hub import fetch
from tests.hubserver import HubServer
from tests.snapshot.hub_models import FILES, PROMPT_FILES, REPO, failure


@pytest.mark.parametrize("revision", ["main", "refs/pr/1"])
def test_offline_needs_one_run_online(hub: HubServer, revision: str) -> None:
    commit = hub.add(REPO, FILES, revision=revision)
    online = fetch(REPO, revision)
    hub.clear()
    hub.stop()
    assert fetch(REPO, revision, offline=True) == online
    assert fetch(REPO, commit, offline=True) == online
    assert hub.requests == []


def test_the_environment_may_say_offline(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(REPO, FILES)
    online = fetch(REPO, None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.clear()
    assert fetch(REPO, None) == online
    assert hub.requests == []


@pytest.mark.parametrize("revision", ["main", "a" * 40])
def test_offline_what_was_never_fetched_says_how_to_fetch_it(hub: HubServer, revision: str) -> None:
    hub.add(REPO, FILES)
    error = failure(revision, offline=True)
    assert error.kind == "offline"
    assert f"Run `template-lint check hf:{REPO}@{revision}` once online." in str(error)
    assert hub.requests == []


def test_offline_a_file_that_is_gone_was_never_fetched(hub: HubServer) -> None:
    hub.add(REPO, FILES)
    (fetch(REPO, None).folder / "chat_template.jinja").unlink()
    assert failure(offline=True).kind == "offline"
    assert fetch(REPO, None).files == PROMPT_FILES


def test_offline_what_other_clients_left_serves_once_it_is_whole(hub: HubServer) -> None:
    hub.add(REPO, {**FILES, ".gitattributes": "", "chat_template.jinja": "x"})
    hf_hub_download(REPO, "tokenizer_config.json", endpoint=hub.url)
    assert failure(offline=True).kind == "offline"
    for name in (".gitattributes", "chat_template.jinja"):
        hf_hub_download(REPO, name, endpoint=hub.url)
    assert fetch(REPO, None, offline=True).files == ("chat_template.jinja", "tokenizer_config.json")
