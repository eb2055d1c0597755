"""The Hub reader with the real huggingface_hub client, against a server on the loopback address."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants, hf_hub_download

from template_lint.errors import CannotCheckError, UsageError
from template_lint.snapshot import hub as hub_module
from template_lint.snapshot.hub import fetch
from template_lint.snapshot.hub_http import Limits
from tests.hubserver import (
    GATED,
    NO_REPOSITORY,
    RATE_LIMITED,
    SERVER_ERROR,
    UNAUTHORIZED,
    Fault,
    HubServer,
)

QUICK = Limits(pauses=(0.0, 0.0, 0.0), longest_wait=1.0)
REPO = "org/model"
TOKEN = "hf_notARealToken"
FILES = {
    "README.md": "# A model",
    "chat_template.jinja": "{{ messages[0].content }}",
    "additional_chat_templates/tool_use.jinja": "{{ tools }}",
    "tokenizer_config.json": "{}",
    "modeling_custom.py": "raise SystemExit",
    "model.safetensors": "weights",
    "model-Q4.gguf": "weights",
    "onnx/tokenizer.json": "{}",
}
PROMPT_FILES = ("additional_chat_templates/tool_use.jinja", "chat_template.jinja", "tokenizer_config.json")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with HubServer() as server:
        server.lead_here(monkeypatch, tmp_path)
        monkeypatch.setattr(hub_module, "LIMITS", QUICK)
        yield server


def failure(revision: str | None = None, **options: Any) -> CannotCheckError:
    with pytest.raises(CannotCheckError) as caught:
        fetch(REPO, revision, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def cached_files(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "hub").rglob("*") if "snapshots" in path.parts and path.is_file())


def test_cold_fetches_only_prompt_shaping_files(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.add(REPO, FILES)
    fetched = fetch(REPO, None)
    assert (fetched.commit, fetched.files) == (commit, PROMPT_FILES)
    assert {name: (fetched.folder / name).read_text() for name in PROMPT_FILES} == {n: FILES[n] for n in PROMPT_FILES}
    expected = [("GET", f"/api/models/{REPO}/revision/main")]
    expected += [("GET", f"/{REPO}/resolve/{commit}/{name}") for name in PROMPT_FILES]
    assert hub.requests == expected
    assert cached_files(tmp_path) == ["chat_template.jinja", "tokenizer_config.json", "tool_use.jinja"]


def test_warm_request_counts(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    cold = fetch(REPO, "main")
    hub.clear()
    assert fetch(REPO, "main") == cold
    assert len(hub.requests) == 1
    hub.clear()
    assert fetch(REPO, commit) == cold
    assert hub.requests == []


def test_cold_commit_pins_and_is_warm_afterwards(hub: HubServer) -> None:
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


@pytest.mark.parametrize("revision", ["main", "refs/pr/1"])
def test_offline_after_one_online_run(hub: HubServer, revision: str) -> None:
    commit = hub.add(REPO, FILES, revision=revision)
    online = fetch(REPO, revision)
    hub.clear()
    hub.stop()
    assert fetch(REPO, revision, offline=True) == online
    assert fetch(REPO, commit, offline=True) == online
    assert hub.requests == []


def test_offline_by_environment(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(REPO, FILES)
    online = fetch(REPO, None)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.clear()
    assert fetch(REPO, None) == online
    assert hub.requests == []


@pytest.mark.parametrize("revision", ["main", "a" * 40])
def test_offline_miss(hub: HubServer, revision: str) -> None:
    hub.add(REPO, FILES)
    error = failure(revision, offline=True)
    assert error.kind == "offline"
    assert f"Run `template-lint check hf:{REPO}@{revision}` once online." in str(error)
    assert hub.requests == []


def test_offline_with_a_file_gone_is_a_miss(hub: HubServer) -> None:
    hub.add(REPO, FILES)
    (fetch(REPO, None).folder / "chat_template.jinja").unlink()
    assert failure(offline=True).kind == "offline"
    assert fetch(REPO, None).files == PROMPT_FILES


def test_offline_with_what_other_clients_left(hub: HubServer) -> None:
    hub.add(REPO, {**FILES, ".gitattributes": "", "chat_template.jinja": "x"})
    hf_hub_download(REPO, "tokenizer_config.json", endpoint=hub.url)
    assert failure(offline=True).kind == "offline"
    for name in (".gitattributes", "chat_template.jinja"):
        hf_hub_download(REPO, name, endpoint=hub.url)
    assert fetch(REPO, None, offline=True).files == ("chat_template.jinja", "tokenizer_config.json")


def test_a_damaged_list_is_made_again(hub: HubServer, tmp_path: Path) -> None:
    commit = hub.add(REPO, FILES)
    fetched = fetch(REPO, commit)
    (listing,) = (tmp_path / "hub").rglob(f"template-lint/{commit}.json")
    for text in ("", "[]", '{"looked_for": [], "files": []}', json.dumps({"files": ["../../x"]})):
        listing.write_text(text)
        hub.clear()
        assert fetch(REPO, commit) == fetched
        assert len(hub.requests) == 1


def test_repository_without_prompt_files(hub: HubServer) -> None:
    hub.add(REPO, {"README.md": "x", "model.safetensors": "weights"})
    fetched = fetch(REPO, None)
    assert fetched.files == () and list(fetched.folder.iterdir()) == []
    assert len(hub.requests) == 1


def test_repository_without_an_owner(hub: HubServer) -> None:
    commit = hub.add("gpt2", FILES)
    assert fetch("gpt2", None).commit == commit


def test_endpoint_with_a_trailing_slash(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    assert fetch(REPO, None, endpoint=hub.url + "/").commit == commit
    hub.fault("*", GATED)
    assert f"access at {hub.url}/{REPO}," in str(failure(endpoint=hub.url + "/"))


def test_large_file_by_redirect_without_the_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.add(REPO, {"tokenizer.json": "x" * 100_000}, large=["tokenizer.json"])
    fetched = fetch(REPO, None)
    assert (fetched.folder / "tokenizer.json").stat().st_size == 100_000
    tokens = dict(zip(hub.requests, hub.tokens, strict=True))
    stored = [token for (_method, path), token in tokens.items() if path.startswith("/storage/")]
    assert stored == [None]
    assert tokens[("GET", f"/api/models/{REPO}/revision/main")] == f"Bearer {TOKEN}"


def test_large_file_with_another_content(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, {"tokenizer.json": b"right"}, large=["tokenizer.json"])
    hub.fault("GET /storage/*", Fault(body=b"wrong", times=2))
    error = failure()
    assert error.kind == "bad-response" and "tokenizer.json arrived with digest" in str(error)
    assert cached_files(tmp_path) == []
    assert (fetch(REPO, None).folder / "tokenizer.json").read_text() == "right"


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
def test_faults(hub: HubServer, where: str, fault: Fault, kind: str, message: str) -> None:
    hub.add(REPO, FILES)
    hub.fault(where, fault)
    error = failure()
    assert error.kind == kind
    assert message.format(url=hub.url) in str(error)


def test_missing_revision(hub: HubServer) -> None:
    hub.add(REPO, FILES)
    error = failure("v9")
    assert error.kind == "missing-revision"
    assert str(error).startswith(f"{hub.url} has {REPO} but no revision 'v9'.")
    assert failure("b" * 40).kind == "missing-revision"


def test_the_answer_is_about_another_commit(hub: HubServer) -> None:
    asked = "c" * 40
    hub.add(REPO, FILES, revision=asked)
    assert failure(asked).kind == "bad-response"


def test_one_server_error_is_forgiven(hub: HubServer) -> None:
    commit = hub.add(REPO, FILES)
    hub.fault("GET /api/*", Fault(status=503, times=1))
    assert fetch(REPO, None).commit == commit


def test_short_body_leaves_nothing_that_looks_whole(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, {"chat_template.jinja": "x" * 5_000})
    hub.fault("GET *chat_template.jinja", Fault(body=b"x" * 1_000))
    assert failure().kind == "bad-response"
    assert cached_files(tmp_path) == []


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("GET *chat_template.jinja", Fault(cut=1_000)),
        ("GET *chat_template.jinja", Fault(delay=0.5)),
        ("GET *chat_template.jinja", Fault(body=b"y" * 5_000)),
        ("GET */resolve/*", Fault(status=500)),
        ("GET */resolve/*", Fault(status=429, headers={"Retry-After": "0"})),
    ],
    ids=["cut", "slow", "other", "500", "429"],
)
def test_a_passing_fault_during_download(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, where: str, fault: Fault
) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", QUICK._replace(silence=0.2))
    hub.add(REPO, {"chat_template.jinja": "x" * 5_000})
    hub.fault(where, replace(fault, times=1))
    assert (fetch(REPO, None).folder / "chat_template.jinja").read_text() == "x" * 5_000
    assert len(hub.requests) == 3


def test_refused_connection_answers_at_once(hub: HubServer) -> None:
    hub.stop()
    started = time.monotonic()
    error = failure()
    assert time.monotonic() - started < 3
    assert error.kind == "unreachable"
    assert f"could not get {REPO}@main from {hub.url}: Connection refused." in str(error)


def test_silent_host_answers_in_time(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "LIMITS", QUICK._replace(connect=0.2, first_answer=0.5))
    hub.fault("GET /api/*", Fault(delay=3))
    started = time.monotonic()
    error = failure()
    assert time.monotonic() - started < 2
    assert error.kind == "unreachable" and "no answer in time" in str(error)


def test_unknown_host(hub: HubServer) -> None:
    error = failure(endpoint="http://hub.invalid")
    assert error.kind == "unreachable" and "http://hub.invalid" in str(error)


def test_cache_that_cannot_be_written(hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
def test_names_that_lead_out_of_the_cache(hub: HubServer, repo: str, revision: str | None) -> None:
    for offline in (False, True):
        with pytest.raises(UsageError):
            fetch(repo, revision, offline=offline)
    assert hub.requests == []


@pytest.mark.parametrize("endpoint", ["hub.example", "ftp://hub.example", "http://", "http://a:b"])
def test_endpoint_that_is_no_address(hub: HubServer, endpoint: str) -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT"):
        fetch(REPO, None, endpoint=endpoint)


def run_python(code: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING", "TRANSF"))}
    command = [sys.executable, "-c", code]
    root = str(Path(__file__).parents[2])
    return subprocess.run(command, env={**kept, **environment}, cwd=root, capture_output=True, text=True, timeout=120)


FETCH = """
import sys
from template_lint.errors import CannotCheckError
from template_lint.snapshot.hub import fetch, fetch_all
from template_lint.snapshot.hub_http import Limits
try:
    print(fetch("org/model", None).commit)
except CannotCheckError as error:
    print(error.kind, error)
print("transformers" in sys.modules, "huggingface_hub.file_download" in sys.modules)
"""


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_a_process_of_its_own(hub: HubServer, tmp_path: Path, variable: str) -> None:
    commit = hub.add(REPO, FILES)
    environment = {**hub.environment(tmp_path / "home"), "HF_TOKEN": TOKEN}
    cold = run_python(FETCH, environment)
    assert (cold.stdout, cold.stderr) == (f"{commit}\nFalse False\n", "")
    hub.clear()
    offline = run_python(FETCH, {**environment, variable: "1"})
    assert (offline.stdout, offline.stderr) == (f"{commit}\nFalse False\n", "")
    assert hub.requests == []
    hub.fault("GET /api/*", UNAUTHORIZED)
    refused = run_python(FETCH, environment)
    assert refused.stdout.startswith("unauthorized ") and refused.stderr == ""
    assert TOKEN not in refused.stdout


def test_the_warnings_of_the_client_stay_off_stderr(hub: HubServer, tmp_path: Path) -> None:
    hub.add(REPO, FILES)
    hub.fault("GET *tokenizer_config.json", Fault(cut=1, times=1))
    result = run_python(FETCH, hub.environment(tmp_path))
    assert result.stdout and result.stderr == ""


def test_dead_endpoint_in_a_process_of_its_own(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    result = run_python(FETCH, {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path), "NO_PROXY": "*"})
    assert result.stdout.startswith(f"unreachable could not get org/model@main from {url}") and result.stderr == ""


AUTO_TOKENIZER = """
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1] if len(sys.argv) > 1 else "org/model")
ids = tokenizer.apply_chat_template([{"role": "user", "content": "hello big world"}], return_dict=False)
print(json.dumps([ids, tokenizer.chat_template]))
"""


def small_tokenizer() -> dict[str, str]:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<unk>", "<s>", "</s>", "hello", "big", "world"]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    return {
        "config.json": json.dumps({"model_type": "llama"}),
        "tokenizer.json": tokenizer.to_str(),
        "tokenizer_config.json": json.dumps({**config, "chat_template": "not in effect"}),
        "chat_template.jinja": "{{ bos_token }} {{ messages[0]['content'] }} {{ eos_token }}",
        "model.safetensors": "weights",
    }


def test_transformers_loads_the_same_from_the_same_hub(hub: HubServer, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    hub.add(REPO, small_tokenizer())
    loaded = run_python(AUTO_TOKENIZER, hub.environment(tmp_path / "home"))
    assert loaded.returncode == 0, loaded.stderr
    ids, template = json.loads(loaded.stdout)
    fetched = fetch(REPO, None)
    assert (fetched.folder / "chat_template.jinja").read_text(encoding="utf-8") == template
    tokenizer = Tokenizer.from_file(str(fetched.folder / "tokenizer.json"))
    assert tokenizer.encode("<s> hello big world </s>", add_special_tokens=False).ids == ids == [1, 3, 4, 5, 2]


def test_offline_in_the_cache_that_transformers_filled(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(REPO, small_tokenizer())
    assert run_python(AUTO_TOKENIZER, hub.environment(tmp_path / "home")).returncode == 0
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    hub.clear()
    files = fetch(REPO, None, offline=True).files
    assert {"chat_template.jinja", "tokenizer.json", "tokenizer_config.json"} <= set(files)
    assert hub.requests == []
