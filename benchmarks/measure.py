"""What the benchmarks share: running a command and watching it, the corpus, medians, growth exponents."""

from __future__ import annotations

import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


class Run(NamedTuple):
    """One run of a command: wall seconds, peak memory of the whole process tree in MiB, exit status."""

    seconds: float
    peak_mib: float
    status: int


def ours() -> str:
    """The installed ``template-lint`` beside this interpreter, else the one on PATH. Ends the program without one."""
    beside = Path(sys.executable).with_name("template-lint")
    found = str(beside) if beside.is_file() else shutil.which("template-lint")
    if found is None:
        sys.exit("template-lint is not installed: pip install . (a benchmark times what users run)")
    return found


def run(command: Sequence[str], *, environment: dict[str, str] | None = None, watch: bool = False) -> Run:
    """Run a command with its output thrown away. ``watch`` samples memory every 50 ms (proportional shares, summed)."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    peak = 0.0
    while watch and process.poll() is None:
        peak = max(peak, _tree_mib(process.pid))
        time.sleep(0.05)
    status = process.wait()
    return Run(time.perf_counter() - started, peak, status)


def _tree_mib(session: int) -> float:
    # Memory shared by forked workers is counted once: each process has its share of it.
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[3]) != session:
                continue
            rollup = (stat.parent / "smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


def corpus() -> Path:
    """The folder of the 786 templates that scripts/fetch_inputs.py fetches."""
    from scripts.fetch_inputs import default_folder

    folder = default_folder() / "corpus"
    if not folder.is_dir():
        sys.exit("no corpus: run `python scripts/fetch_inputs.py --only corpus` once")
    return folder


def spread(seconds: Sequence[float]) -> str:
    """Median and range, in milliseconds."""
    median = statistics.median(seconds)
    return f"{median * 1000:7.0f} ms  ({min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f}, {len(seconds)} runs)"


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Exponent of a power law through the points, by least squares on logarithms: 1 is linear."""
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in seconds]
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)
