"""The Hub reader in a process of its own, and beside transformers on the same Hub and cache."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from huggingface_hub import constants

from template_lint.snapshot.hub import fetch
from tests.hubserver import UNAUTHORIZED, Fault, HubServer
from tests.snapshot.hub_models import FILES, REPO, TOKEN


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
def test_a_process_of_its_own_reads_the_environment_and_loads_little(
    hub: HubServer, tmp_path: Path, variable: str
) -> None:
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


def test_a_dead_endpoint_is_said_by_a_process_of_its_own(tmp_path: Path) -> None:
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


def test_offline_serves_from_the_cache_that_transformers_filled(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(REPO, small_tokenizer())
    assert run_python(AUTO_TOKENIZER, hub.environment(tmp_path / "home")).returncode == 0
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "home" / "hub"))
    hub.clear()
    files = fetch(REPO, None, offline=True).files
    assert {"chat_template.jinja", "tokenizer.json", "tokenizer_config.json"} <= set(files)
    assert hub.requests == []
