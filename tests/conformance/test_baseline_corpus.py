"""A repository with forty real templates takes up the gate: a baseline, a green run, one new defect, a fix."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from template_lint.cli.support.program import program
from tests.inputs import corpus_dir

NUMBER = 40
CHANGED = "Qwen-Qwen3-4B-Instruct-2507.jinja"
UNJUDGED = {
    "openguardrails-OpenGuardrails-Text-2510.jinja": "renders no tool conversation",  # a judge: refuses every one
    "MiniMaxAI-MiniMax-M1-40k.jinja": "renders no conversation",  # content must be in parts
}
END = "{%- endfor %}\n        {%- endif %}\n        {{- '<|im_end|>\\n' }}"
LOOKS_AHEAD = END.replace("{{- '<|im_end|>", "{%- if not loop.last %}{{- ' ' }}{%- endif %}{{- '<|im_end|>")

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    (root / "templates").mkdir()
    templates = sorted(corpus_dir().glob("*.jinja"))
    chosen = {path.name: path for path in templates[:: len(templates) // NUMBER][: NUMBER - 1]}
    assert chosen.keys() >= UNJUDGED.keys()
    for path in [*chosen.values(), corpus_dir() / CHANGED]:
        shutil.copy(path, root / "templates")
    (root / "template-lint.yaml").write_text(
        "targets: [templates/]\ntransformers: '5.24'\nbaseline: known.json\njobs: 2\n"
    )
    return root


def test_the_gate_of_forty_templates(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("TEMPLATE_LINT_CACHE", str(tmp_path))

    def run(*args: str) -> Result:
        return CliRunner().invoke(program, ["check", *args], prog_name="template-lint")

    assert len(list(Path("templates").iterdir())) == NUMBER
    unjudged = run("--update-baseline", "--baseline", "all.json")
    assert unjudged.exit_code == 3
    for name, what in UNJUDGED.items():
        assert re.search(f"NOT CHECKED templates/{re.escape(name)} +{what}", " ".join(unjudged.stdout.split()))
    assert unjudged.stdout.count("NOT CHECKED") == len(UNJUDGED)
    with Path("template-lint.yaml").open("a") as configuration:
        configuration.write(f"exclude: {json.dumps(list(UNJUDGED))}\n")
    known, changed = Path("known.json"), Path("templates") / CHANGED
    assert run("--update-baseline").exit_code == 0
    written = known.read_bytes()
    entries = json.loads(written)["findings"]
    assert len(entries) > NUMBER
    assert {entry["target"].split("/")[0] for entry in entries} == {"templates"}

    second = run("-o", "json")
    assert second.exit_code == 0
    summary = json.loads(second.stdout)["summary"]
    assert (summary["errors"], summary["warnings"], summary["infos"], summary["stale_baseline"]) == (0, 0, 0, 0)
    assert summary["suppressed_by"]["baseline"] == sum(entry["count"] for entry in entries)

    run("--no-cache", "--update-baseline")
    assert known.read_bytes() == written

    before = changed.read_text(encoding="utf-8")
    assert before.count(END) == 1
    changed.write_text(before.replace(END, LOOKS_AHEAD), encoding="utf-8")
    red = run("-o", "concise")
    assert red.exit_code == 1
    found = red.stdout.splitlines()
    assert found
    assert all(line.startswith(f"{changed.as_posix()}:") and "loop.last" in line for line in found), found
    assert any(" TL101 error " in line for line in found)

    # The defect is accepted for now, then fixed.
    assert run("--update-baseline").exit_code == 0
    assert known.read_bytes() != written
    changed.write_text(before, encoding="utf-8")
    fixed = run("-o", "concise")
    assert fixed.exit_code == 0
    assert "--prune-baseline removes" in fixed.stderr
    assert run("--prune-baseline").exit_code == 0
    assert known.read_bytes() == written
