"""``--engine ray``: the same bytes as without it, from two workers of a local Ray."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.test_command import run, sample

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is missing: pip install 'template-lint[ray]'"
)
SMALL_BLOCKS = (
    "import template_lint.audit.run as run; run.BLOCK_BYTES = 20_000; from template_lint.cli import main; main()"
)


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.chdir(tmp_path)


def audited(*words: str) -> subprocess.CompletedProcess[str]:
    """In small blocks, in an interpreter of its own that is ended when it takes too long."""
    command = [sys.executable, "-c", SMALL_BLOCKS, "audit", *words, "--jobs", "2", "-o", "json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def write_rollouts(target: Path, folder: Path) -> None:
    """A plain file with turns of rollouts and bad rows, one that was cut off while it was written, a Parquet file."""
    folder.mkdir()
    lines = sample(target, "--defect-rate", "0.03", count=150).splitlines()
    (folder / "a.jsonl").write_text("\n".join([*lines[:70], "{", '{"ids": 3}', *lines[70:]]) + "\n", encoding="utf-8")
    packed = gzip.compress("\n".join(lines[:60]).encode() + b"\n")
    (folder / "b.jsonl.gz").write_bytes(packed[:-40])
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{key: row[key] for key in ("ids", "mask", "logprobs", "prompt_len")} for row in map(json.loads, lines[:50])]
    parquet.write_table(arrow.Table.from_pylist(rows), folder / "c.parquet", row_group_size=10)


@needs_ray
def test_ray_and_local_give_the_same_bytes(target: Path, tmp_path: Path) -> None:
    write_rollouts(target, tmp_path / "rows")
    words = ("rows", "--tokenizer", str(target), "--transformers", "5.24")
    local, on_ray = audited(*words), audited(*words, "--engine", "ray")
    assert on_ray.returncode == local.returncode == 1, on_ray.stderr
    assert on_ray.stdout == local.stdout
    document = json.loads(local.stdout)
    assert document["bad_rows"]["kinds"] and document["unreadable"] and len(document["files"]) == 3
    assert on_ray.stderr == ""


@needs_ray
def test_what_a_worker_returns_to_raise_is_raised(target: Path, tmp_path: Path) -> None:
    (tmp_path / "rollouts.jsonl").write_text(sample(target, count=3), encoding="utf-8")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    done = audited("rollouts.jsonl", "--tokenizer", "chat_template.jinja", "--engine", "ray")
    assert done.returncode == 3, done.stderr
    assert "Name a target with its tokenizer" in done.stderr


def test_without_ray_it_says_what_to_install(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    Path("rollouts.jsonl").write_text(sample(target, count=3), encoding="utf-8")
    done = run("rollouts.jsonl", "--tokenizer", str(target), "--engine", "ray")
    assert done.exit_code == 2, done.output
    assert "pip install 'template-lint[ray]'" in done.stderr


def test_a_model_is_not_copied_to_every_worker(target: Path) -> None:
    done = run("-", "--tokenizer", str(target), "--engine", "ray", "--score", str(target), stdin="{}\n")
    assert done.exit_code == 2
    assert "--engine local" in done.stderr
