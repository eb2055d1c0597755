"""A small target that allows every defect: BOS in its template, an embedding with padding rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from template_lint.audit.auditor import AuditOptions, Auditor
from template_lint.audit.fields import preset
from tests.tito.toy_models import SOUND, folder

TEMPLATE = "{{ '<s>' }}" + SOUND
EMBEDDING_ROWS = 320


def make_target(path: Path, template: str = TEMPLATE) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    folder(path, template)
    (path / "config.json").write_text(json.dumps({"vocab_size": EMBEDDING_ROWS}), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target(tmp_path_factory.mktemp("audit") / "toy")


@pytest.fixture(scope="session")
def auditor(target: Path) -> Auditor:
    return Auditor(AuditOptions(str(target), preset("template-lint"), transformers="5.24"))
