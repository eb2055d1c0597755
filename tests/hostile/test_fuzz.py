"""Templates that nobody wrote: from a grammar, and mutants of real ones. Every law of ``laws`` holds for each.

``TEMPLATE_LINT_FUZZ_SECONDS`` is how long the mutants are tried (default 15); ``scripts/fuzz.py`` runs for hours.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.attacks import FRAGMENTS, slow_to_analyse
from tests.hostile.grammar import templates
from tests.hostile.laws import escapes
from tests.hostile.mutator import mutate
from tests.hostile.seeds import seeds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bounds on memory and processor time need Linux")

SECONDS = float(os.environ.get("TEMPLATE_LINT_FUZZ_SECONDS", "15"))
BATCH = 8


def test_mutants_break_no_law(tmp_path: Path) -> None:
    sources, chance = seeds(), random.Random(7)
    ends = time.monotonic() + SECONDS
    rounds = 0
    while rounds == 0 or time.monotonic() < ends:
        batch = {f"m{index}": mutate(sources, chance) for index in range(BATCH)}
        assert escapes(batch, tmp_path, twice=rounds % 6 == 0) == []
        rounds += 1


def test_the_same_seed_gives_the_same_mutants() -> None:
    sources = seeds()[:20]
    one, two = random.Random(3), random.Random(3)
    assert [mutate(sources, one) for _ in range(50)] == [mutate(sources, two) for _ in range(50)]


@settings(
    max_examples=12 if SECONDS <= 15 else int(SECONDS),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(templates, min_size=1, max_size=BATCH, unique=True))
def test_templates_of_the_grammar_break_no_law(sources: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert escapes({f"g{index}": source for index, source in enumerate(sources)}, Path(folder)) == []


def test_attacks_alone_and_in_a_template_break_no_law(tmp_path: Path) -> None:
    chat = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    sources = {f"a{index}": fragment + chat for index, fragment in enumerate(FRAGMENTS)}
    assert escapes(sources, tmp_path) == []


@pytest.mark.parametrize("name", slow_to_analyse())
def test_what_is_slow_to_read_is_bounded_too(name: str, tmp_path: Path) -> None:
    assert escapes({name: slow_to_analyse()[name]}, tmp_path) == []


def test_the_command_says_the_same(tmp_path: Path) -> None:
    """Exit codes and outputs of the real command over a folder of attacks."""
    for index, fragment in enumerate(FRAGMENTS[14:34:5]):
        (tmp_path / f"a{index}.jinja").write_bytes(fragment.encode("utf-8", "surrogatepass"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"}
    command = [sys.executable, "-c", "from template_lint.cli import main; main()", "check", "--no-cache", str(tmp_path)]
    outputs = ["-o", f"json={tmp_path / 'r.json'}", "-o", f"sarif={tmp_path / 'r.sarif'}", "-o", "concise"]
    done = subprocess.run([*command, *outputs], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "r.json").stat().st_size > 0
