"""Finding a training template: by bytes, by normalised source, by proof; never by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from template_lint.errors import TemplateSelectionError, UsageError
from template_lint.patches import index, lookup, matching, needed, training_template
from template_lint.patches.lookup import patch_by_source
from template_lint.patches.matching import MatchedBy
from template_lint.patches.normal import normalised_digest
from template_lint.snapshot.load import load_snapshot
from template_lint.target import parse_target
from tests.patches import toys
from tests.patches.toys import SOUND, changed

DEFECT = changed(toys.ORIGINAL, "{{ '\\n' }}", "{% if loop.last %}<|eos|>{% endif %}{{ '\\n' }}")
TRAINING = changed(SOUND, "<|end|>{% endgeneration %}", "<|end|><|eos|>{% endgeneration %}")


@pytest.fixture(autouse=True)
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {
        "name": "toy",
        "family": "toy",
        "models": ["toy/toy"],
        "originals": [
            {"sha256": index.digest(DEFECT), "source": "toy.jinja", "normalised": normalised_digest(DEFECT)},
        ],
        "fixes": [{"kind": "prefix", "sentence": "Every turn ends with eos."}, {"kind": "markers", "sentence": "So."}],
        "stable_roles": ["tool", "user", "system"],
        "transformers": ["5.24"],
    }
    (tmp_path / "index.yaml").write_text(json.dumps({"version": 1, "templates": [entry]}), encoding="utf-8")
    (tmp_path / "toy_training.jinja").write_text(TRAINING, encoding="utf-8")
    for module in (index, lookup, matching):
        monkeypatch.setattr(module, "library_folder", lambda: tmp_path)


def found(source: str, **options: Any) -> MatchedBy | None:
    template = training_template(source, transformers="5.24", **options)
    assert template is None or (template.name, template.source) == ("toy", TRAINING)
    return template.matched_by if template else None


def test_by_bytes() -> None:
    assert found(DEFECT) is MatchedBy.SHA256
    assert patch_by_source(DEFECT) == "toy"


@pytest.mark.parametrize(
    "copy",
    [
        DEFECT + "{# one more comment #}",
        DEFECT.replace("{% if loop.last %}", "{%  if   loop.last  %}"),
        DEFECT.replace("{% if loop.last %}", "{%- if loop.last %}"),
        DEFECT.replace("'assistant'", '"assistant"'),
        DEFECT.replace("{% if tools %}", "    {% if tools %}", 1),
        DEFECT.replace("{% else %}", "{#- here -#}{% else %}", 1),
    ],
    ids=["comment", "spaces", "control", "quotes", "indentation", "comment-within"],
)
def test_by_normalised_source(copy: str) -> None:
    assert copy != DEFECT
    assert found(copy, by_behaviour=False) is MatchedBy.SOURCE
    assert patch_by_source(copy) == "toy"


def test_by_behaviour() -> None:
    copy = DEFECT.replace("m.role == 'assistant'", "'assistant' == m['role']")
    assert patch_by_source(copy) is None
    assert found(copy, by_behaviour=False) is None
    assert found(copy) is MatchedBy.BEHAVIOUR


@pytest.mark.parametrize(
    "copy",
    [
        DEFECT.replace("<|tools|>", "<|tool|>"),
        DEFECT.replace("<|end|>\n{% endif %}{% endfor %}", "<|end|>{% endif %}{% endfor %}"),
        DEFECT + " ",
        "{% if",
        "",
    ],
    ids=["another-header", "no-newline", "a-space", "broken", "empty"],
)
def test_other_prompts_find_nothing(copy: str) -> None:
    assert found(copy) is None


def test_a_snapshot_and_a_tokenizer(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text(DEFECT, encoding="utf-8")
    snapshot = load_snapshot(parse_target(str(tmp_path / "chat_template.jinja")))
    by_snapshot = training_template(snapshot)
    assert by_snapshot is not None and by_snapshot.matched_by is MatchedBy.SHA256

    class Tokenizer:
        def get_chat_template(self) -> str:
            return DEFECT

    by_tokenizer = training_template(Tokenizer())
    assert by_tokenizer is not None and by_tokenizer.kwargs == {}
    assert training_template(Tokenizer(), chat_template="{{ messages }}") is None


def test_a_model_without_a_template() -> None:
    class Tokenizer:
        def get_chat_template(self) -> str:
            raise ValueError("none set")

    with pytest.raises(TemplateSelectionError, match="none set"):
        training_template(Tokenizer())
    with pytest.raises(UsageError, match="not int"):
        training_template(3)


def test_needed_until_the_original_is_right() -> None:
    assert needed(toys.facts(DEFECT), "toy").fixes == ("prefix", "markers")
    unmarked = TRAINING.replace("{% generation %}", "").replace("{% endgeneration %}", "")
    assert needed(toys.facts(unmarked), "toy").fixes == ("markers",)
    obsolete = needed(toys.facts(TRAINING), "toy")
    assert not obsolete
    assert "obsolete" in obsolete.reason
    with pytest.raises(UsageError, match="no training template 'toys'"):
        needed(toys.facts(DEFECT), "toys")
