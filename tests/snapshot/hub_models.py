"""A small model on the loopback Hub, and what the tests of the Hub reader ask of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import CannotCheckError
from template_lint.snapshot.hub import fetch
from template_lint.snapshot.hub_http import Limits

QUICK = Limits(pauses=(0.0, 0.0, 0.0), longest_wait=3.0)
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


def failure(revision: str | None = None, **options: Any) -> CannotCheckError:
    """What fetching the model raises, in one line."""
    with pytest.raises(CannotCheckError) as caught:
        fetch(REPO, revision, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def cached_files(tmp_path: Path) -> list[str]:
    """Names of the files in the cache that belong to a revision."""
    return sorted(path.name for path in (tmp_path / "hub").rglob("*") if "snapshots" in path.parts and path.is_file())
