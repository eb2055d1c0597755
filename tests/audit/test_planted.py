"""Every defect that a sample can hold is found where it was planted, and nowhere else; causes are told apart."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from template_lint.audit.auditor import AuditOptions, Auditor
from template_lint.audit.causes import CAUSES
from template_lint.audit.fields import preset
from template_lint.audit.model import Trajectory, TrajectoryResult
from template_lint.audit.rollouts import audit_many
from template_lint.audit.rows import trajectories
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.sample.plants import PLANTS
from template_lint.audit.summary import Summary
from tests.inputs import tokenizer_dir

FIELDS = preset("template-lint")
BY_CAUSE = [name for name, plant in PLANTS.items() if plant.expected in CAUSES]


def sample(auditor: Auditor, count: int, *names: str, rate: float = 0.1) -> list[tuple[str | None, Trajectory]]:
    """Trajectories as they are read, with what is planted in each."""
    made = []
    for number, row in enumerate(make_sample(auditor, count, rate=rate, plants=names, seed=3), 1):
        read = json.loads(dump(row))
        made += [(read.get("planted"), row) for row in trajectories(read, FIELDS, 0, number)]
    return made


def said(auditor: Auditor, made: list[tuple[str | None, Trajectory]]) -> list[tuple[str | None, set[str]]]:
    """What is planted in each trajectory, and the codes that an audit says."""
    rows = [row for _, row in made]
    found: list[tuple[str | None, set[str]]] = []
    before: tuple[Trajectory, TrajectoryResult] | None = None
    for (name, row), result in zip(made, audit_many(rows, auditor).results, strict=True):
        summary = Summary()
        if before is not None and row.turn == 1:
            summary.add(*before)
        summary.add(row, result)
        before = row, result
        tallies = summary.tallies.items()
        codes = {code for code, tally in tallies if row.origin in [example.origin for example in tally.examples]}
        if result.drift is not None and result.drift.verdict != "CLEAN":
            codes.add("drift")
        found.append((name, codes))
    return found


def cause(result: TrajectoryResult) -> str:
    return result.diagnosis.cause if result.diagnosis else "-"


def test_a_sound_sample_is_sound(auditor: Auditor) -> None:
    assert [codes for _, codes in said(auditor, sample(auditor, 60))] == [set()] * 60


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_defect_is_found_there_and_only_there(name: str, auditor: Auditor) -> None:
    plant = PLANTS[name]
    results = said(auditor, sample(auditor, 40, name))
    assert sum(planted == name for planted, _ in results) >= 3
    for planted, codes in results:
        if planted is None:
            assert codes == set()
        else:
            assert plant.expected in codes
            assert codes <= {plant.expected, *plant.also}


def confusion(auditor: Auditor, count: int, rate: float) -> Counter[tuple[str, str]]:
    """(planted defect, cause said) -> number of trajectories."""
    made = sample(auditor, count, *BY_CAUSE, rate=rate)
    results = audit_many([row for _, row in made], auditor).results
    return Counter((name or "sound", cause(result)) for (name, _), result in zip(made, results, strict=True))


def wrong(matrix: Counter[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """What is not on the diagonal."""
    right = {"sound": "-", **{name: PLANTS[name].expected for name in BY_CAUSE}}
    return {(name, said): number for (name, said), number in matrix.items() if said != right[name]}


def test_causes_are_told_apart(auditor: Auditor) -> None:
    matrix = confusion(auditor, 260, 0.04)
    assert {name for name, _ in matrix} == {"sound", *BY_CAUSE}
    assert wrong(matrix) == {}


def test_causes_are_told_apart_with_a_real_tokenizer() -> None:
    real = Auditor(AuditOptions(str(tokenizer_dir("qwen3")), FIELDS, transformers="5.24"))
    matrix = confusion(real, 520, 0.04)
    assert wrong(matrix) == {}


@pytest.mark.parametrize("model", ["qwen3", "llama3_1", "gemma3", "gptoss", "deepseek_v3"])
def test_a_sound_sample_of_a_real_target_is_sound(model: str, tmp_path: Path) -> None:
    real = Auditor(AuditOptions(str(tokenizer_dir(model)), FIELDS, transformers="5.24"))
    if not real.has_template:
        pytest.skip(f"{model} comes without a template")
    found = [codes for _, codes in said(real, sample(real, 30))]
    assert [codes for codes in found if codes - {"drift"}] == []
    assert sum("drift" in codes for codes in found) <= 3
