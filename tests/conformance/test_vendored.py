"""AutoTokenizer of the installed transformers loads a stored model, and gives the ids that our loader gives.

The files went through the whole of it: a Hub (on the loopback address), the cache, the lock, the vendor folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from template_lint.facts import TemplateFacts
from template_lint.facts.fingerprint import final_prompts
from template_lint.lock.building import build
from template_lint.lock.pins import Pins
from template_lint.lock.vendoring import store
from template_lint.lock.writing import dumps
from template_lint.rendering.profiles import installed_profile
from template_lint.snapshot.load import load_snapshot
from template_lint.snapshot.special_tokens import special_tokens
from template_lint.target import parse_target
from template_lint.tokenization import load_tokenization
from tests.hubserver import HubServer
from tests.inputs import tokenizer_dir

MODELS = ("qwen3", "gemma3", "gptoss", "llama3_1", "deepseek_v3", "llama2")
TEXTS = ("", "Hello, world", "  two spaces\n\n\ttab", "naïve café 東京 🙂", "<|im_start|>user\nhi<|im_end|>", "a" * 300)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    with HubServer() as server:
        server.lead_here(monkeypatch, tmp_path)
        yield server


@pytest.mark.parametrize("name", MODELS)
def test_a_stored_model_is_what_transformers_reads(hub: HubServer, tmp_path: Path, name: str) -> None:
    from transformers import AutoTokenizer

    profile = installed_profile()
    source = tokenizer_dir(name)
    hub.add(f"org/{name}", {path.name: path.read_bytes() for path in source.iterdir()}, large=["tokenizer.json"])
    project = tmp_path / "project"
    project.mkdir()
    built = build(None, project, [parse_target(f"hf:org/{name}")], profile, processes=1, file="template-lint.lock")
    assert built.lock is not None and not built.failed
    lock = built.lock._replace(vendor="vendor")
    store(lock, project, offline=False)
    (project / "template-lint.lock").write_text(dumps(lock), encoding="utf-8")
    hub.stop()

    theirs: Any = AutoTokenizer.from_pretrained(str(project / "vendor" / "org" / name), local_files_only=True)
    pins = Pins.read(project / "template-lint.lock")
    snapshot = load_snapshot(pins.pinned(pins.lock.entries[0]), profile_version=profile.version)
    ours = load_tokenization(snapshot, profile_version=profile.version)
    texts = list(TEXTS)
    for template in snapshot.templates:
        facts = TemplateFacts(template.source, profile, variables=special_tokens(snapshot, profile.version))
        for outcomes in final_prompts(facts).values():
            texts += [outcome.text for outcome in outcomes if outcome.text is not None]
    for text in texts:
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"], text
    if snapshot.templates:
        assert theirs.chat_template == snapshot.templates[0].source
        assert len(texts) > len(TEXTS) + 5
