"""docs/audit.md names what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from template_lint.audit.fields import FIELDS, PRESETS
from template_lint.report.audit import formats

PAGE = (Path(__file__).parent.parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [known.name for known in PRESETS])
def test_a_preset_has_a_row_with_its_fields(name: str) -> None:
    [known] = [known for known in PRESETS if known.name == name]
    [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    for field in ("ids", "mask", "logprobs", "trainer_logprobs", "messages"):
        first = known.paths.get(field, "").split("|")[0]
        if field in known.paths and (name, field) not in (("openai", "mask"), ("openai", "trainer_logprobs")):
            assert first.rpartition(".")[2] in row, (field, first)


def test_every_field_is_named() -> None:
    assert [field for field in FIELDS if f"`{field}`" not in PAGE] == []


def test_every_format_is_named() -> None:
    assert [name for name in formats() if f"`{name}`" not in PAGE and f"`--output {name}`" not in PAGE] == []


def test_the_snippet_that_dumps_a_batch_writes_rows(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    file = tmp_path / "batch.jsonl"
    batch = {"prompt_ids": np.array([[1, 2], [3, 4]]), "prompt": [[{"role": "user"}], []]}
    names["dump"](batch, file, tools=["t"])
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows == [
        {"prompt_ids": [1, 2], "prompt": [{"role": "user"}], "tools": ["t"]},
        {"prompt_ids": [3, 4], "prompt": [], "tools": ["t"]},
    ]
