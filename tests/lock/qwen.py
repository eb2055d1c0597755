"""A Qwen3 repository on a loopback Hub, with the real template and the real tokenizer, and what becomes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from template_lint.lock.entries import entry_of
from template_lint.lock.model import Lock
from template_lint.lock.observing import observe
from template_lint.lock.writing import dumps
from template_lint.rendering.profiles import parse_profile
from template_lint.scenarios.catalogue import catalogue_version
from template_lint.target import Target, TargetKind
from tests.hubserver import HubServer
from tests.inputs import corpus_dir, tokenizer_dir

REPO = "Qwen/Qwen3-4B-Instruct-2507"
TEMPLATE = "Qwen-Qwen3-4B-Instruct-2507.jinja"
ROOT = Path(__file__).resolve().parents[2]


class Run(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str


def files() -> dict[str, str]:
    """The repository as it was pinned."""
    folder = tokenizer_dir("qwen3")
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    config.pop("chat_template", None)
    return {
        "README.md": "# Qwen3\n",
        "config.json": json.dumps({"model_type": "qwen3"}),
        "generation_config.json": json.dumps({"eos_token_id": [151645, 151643]}),
        "chat_template.jinja": (corpus_dir() / TEMPLATE).read_text(encoding="utf-8"),
        "tokenizer.json": (folder / "tokenizer.json").read_text(encoding="utf-8"),
        "tokenizer_config.json": json.dumps(config, indent=2),
    }


def with_readme(pinned: Mapping[str, str]) -> dict[str, str]:
    """Only the README changed."""
    return {**pinned, "README.md": "# Qwen3\n\nNow with a news section.\n"}


def with_other_line(pinned: Mapping[str, str]) -> dict[str, str]:
    """One line of the template changed: what the model is told about its tools."""
    old = "# Tools\\n\\nYou may call one or more functions to assist with the user query."
    return with_template(pinned, old, "# Tools\\n\\nYou may call several functions to assist with the user query.")


def with_late_end(pinned: Mapping[str, str]) -> dict[str, str]:
    """The end of an assistant turn is only printed once something follows: tool results rewrite the turn."""
    old = "        {{- '<|im_end|>\\n' }}\n    {%- elif message.role == \"tool\" %}"
    new = "        {{- '<|im_end|>\\n' if not loop.last or not message.tool_calls else '<|endoftext|>' }}\n"
    return with_template(pinned, old, new + '    {%- elif message.role == "tool" %}')


def with_template(pinned: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The template with one passage replaced."""
    source = pinned["chat_template.jinja"]
    assert source.count(old) == 1
    return {**pinned, "chat_template.jinja": source.replace(old, new)}


def with_tokenizer(pinned: Mapping[str, str], change: Callable[[dict[str, Any]], None]) -> dict[str, str]:
    """tokenizer.json after ``change``."""
    data = json.loads(pinned["tokenizer.json"])
    change(data)
    return {**pinned, "tokenizer.json": json.dumps(data, ensure_ascii=False)}


def without_call_tokens(pinned: Mapping[str, str]) -> dict[str, str]:
    """``<tool_call>`` and ``</tool_call>`` are tokens no more: they are split into pieces."""

    def change(tokenizer: dict[str, Any]) -> None:
        tokenizer["added_tokens"] = [t for t in tokenizer["added_tokens"] if "tool_call>" not in t["content"]]

    config = json.loads(pinned["tokenizer_config.json"])
    decoder = config["added_tokens_decoder"]
    config["added_tokens_decoder"] = {k: token for k, token in decoder.items() if "tool_call>" not in token["content"]}
    return {**with_tokenizer(pinned, change), "tokenizer_config.json": json.dumps(config)}


def write_lock(path: Path, hub: HubServer, home: Path, revision: str = "main") -> None:
    """Pin what ``revision`` is now, by the code of the lock, in a process that asks this Hub."""
    script = f"import sys; from tests.lock import qwen; sys.stdout.write(qwen.lock_text({revision!r}))"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(hub, home), cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout, encoding="utf-8")


def lock_text(revision: str) -> str:
    """The text of a lock that pins a revision of the repository."""
    target = Target(f"{REPO}@{revision}", TargetKind.HUB, repo=REPO, revision=revision)
    [observation] = observe([target], parse_profile("5.24"), rules=(), processes=1)
    return dumps(Lock(transformers="5.24", scenarios=catalogue_version(), entries=(entry_of(observation),)))


def run(*words: str, hub: HubServer, home: Path, cwd: Path) -> Run:
    """The command line in a process of its own: it must see the Hub's address when it starts."""
    done = subprocess.run(
        [sys.executable, "-c", "from template_lint.cli import main; main()", *words],
        env={**environment(hub, home), "COLUMNS": "100"},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def environment(hub: HubServer, home: Path) -> dict[str, str]:
    """The variables of a process that asks this Hub."""
    return {**os.environ, **hub.environment(home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
