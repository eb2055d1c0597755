"""Whoever audits, and in however many pieces: the same bytes."""

from __future__ import annotations

import copy
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from template_lint.audit import block as block_module
from template_lint.audit import sources
from template_lint.audit.auditor import Auditor
from template_lint.audit.block import audit_block
from template_lint.audit.run import Audit, Request, audit
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.sources import Block, Source
from template_lint.audit.summary import Summary
from template_lint.report.audit.json import document

SOURCE = Source(0, "rollouts.jsonl", "rollouts.jsonl", "lines")


@pytest.fixture(scope="module")
def lines(auditor: Auditor) -> list[bytes]:
    made = [dump(row).encode() for row in make_sample(auditor, 80, rate=0.04, seed=2)]
    made[7], made[20], made[21] = b"not json", b"[]", b""
    return made


def shown(summary: Summary, auditor: Auditor) -> str:
    made = Audit(Request(("rollouts.jsonl",), "toy"), [SOURCE], auditor.options.fields, summary)
    return json.dumps(document(made))


def piece(lines: list[bytes], start: int, end: int) -> Block:
    return Block(SOURCE, start + 1, b"".join(line + b"\n" for line in lines[start:end]))


def merged(parts: list[Summary]) -> Summary:
    total = Summary()
    for part in parts:
        total.merge(copy.deepcopy(part))
    return total


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.integers(1, 79), max_size=12), rows=st.sampled_from([1, 3, 256]))
def test_the_cuts_do_not_show(cuts: set[int], rows: int, lines: list[bytes], auditor: Auditor) -> None:
    bounds = [0, *sorted(cuts), len(lines)]
    whole = shown(audit_block(piece(lines, 0, len(lines)), auditor), auditor)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_module, "_CHUNK_ROWS", rows)
        parts = [audit_block(piece(lines, start, end), auditor) for start, end in pairwise(bounds)]
    assert shown(merged(parts), auditor) == whole


def test_merging_is_associative(lines: list[bytes], auditor: Auditor) -> None:
    a, b, c = (audit_block(piece(lines, start, start + 27), auditor) for start in (0, 27, 54))
    left = merged([merged([a, b]), c])
    right = merged([a, merged([b, c])])
    assert shown(left, auditor) == shown(right, auditor)


def test_one_process_and_two_print_the_same(
    lines: list[bytes], auditor: Auditor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_READ", 50_000)
    monkeypatch.setattr(sources.blocks, "__kwdefaults__", {"size": 50_000})
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    documents = [
        json.dumps(document(audit(Request((str(path),), auditor.options.target, transformers="5.24", jobs=jobs))))
        for jobs in (1, 2)
    ]
    assert documents[0] == documents[1]
    assert len(list(sources.blocks(sources.expand([str(path)])[0]))) > 5
