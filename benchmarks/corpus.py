"""All 786 templates of the corpus: ours without a cache, again with a warm one, and a peer.

python benchmarks/corpus.py [--peer PATH_TO_CHATLINT] [--jobs N] [--runs N]

The peer checks in one process; split over as many processes as ours has, it is the fairer comparison. Both are shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import Run, corpus, ours, run


def split(peer: str, files: list[Path], processes: int) -> float:
    """Seconds until as many peers, each with its share of the files, are done."""
    started = time.perf_counter()
    running = [
        subprocess.Popen(
            [peer, "check", *map(str, files[share::processes])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for share in range(processes)
    ]
    for process in running:
        process.wait()
    return time.perf_counter() - started


def line(name: str, runs: list[Run]) -> str:
    """Medians of time and peak memory."""
    seconds = statistics.median(done.seconds for done in runs)
    peak = max(done.peak_mib for done in runs)
    return f"{name:34} {seconds:6.1f} s   peak {peak:4.0f} MiB   exit {runs[0].status}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=shutil.which("chatlint"), help="the chatlint command [default: on PATH]")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    folder = corpus()
    files = sorted(folder.glob("*.jinja"))
    check = [ours(), "check", str(folder), "--jobs", str(arguments.jobs), "--output", "concise"]
    cold, warm, peer, halves = [], [], [], []
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TEMPLATE_LINT_CACHE": cache}
        run(check, environment=environment)
        for _ in range(arguments.runs):
            cold.append(run([*check, "--no-cache"], watch=True))
            warm.append(run(check, environment=environment, watch=True))
            if arguments.peer:
                peer.append(run([arguments.peer, "check", *map(str, files)], watch=True))
                halves.append(split(arguments.peer, files, arguments.jobs))
    print(f"{len(files)} templates, {arguments.jobs} processes")
    print(line("template-lint check --no-cache", cold))
    print(line("template-lint check, second run", warm))
    if arguments.peer:
        print(line("chatlint check", peer))
        own = statistics.median(done.seconds for done in cold)
        one, several = statistics.median(done.seconds for done in peer), statistics.median(halves)
        print(f"{'chatlint in ' + str(arguments.jobs) + ' processes':34} {several:6.1f} s")
        print(f"ours takes {own / one:.2f} of chatlint's time, {own / several:.2f} of that of several chatlints")


if __name__ == "__main__":
    main()
