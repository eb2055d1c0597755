"""The whole process for one file: ``template-lint check FILE`` and a peer, runs alternating.

python benchmarks/one_file.py [FILE] [--peer PATH_TO_CHATLINT] [--runs N]
python benchmarks/one_file.py --sample N [--seed N] --peer PATH_TO_CHATLINT [--runs N]

Ours runs without and with its cache. The file is the Qwen3 template of the corpus where none is given. ``--sample``
takes N files of the corpus at random and prints the ratio of each (ours without cache), their median and their range.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
from pathlib import Path

from measure import corpus, ours, run, spread


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--sample", type=int, metavar="N", help="so many files of the corpus in place of one")
    parser.add_argument("--seed", type=int, default=11, help="which sample [default: 11]")
    parser.add_argument("--peer", default=shutil.which("chatlint"), help="the chatlint command [default: on PATH]")
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TEMPLATE_LINT_CACHE": cache}
        if arguments.sample:
            if not arguments.peer:
                parser.error("--sample compares with a peer: give --peer")
            _sample(arguments, environment)
        else:
            _one(arguments, environment)


def _one(arguments: argparse.Namespace, environment: dict[str, str]) -> None:
    seconds = _seconds(arguments.file or corpus() / "Qwen-Qwen3-0.6B@a55ee1.jinja", arguments, environment)
    for name, values in seconds.items():
        print(f"{name:32} {spread(values)}")
    if arguments.peer:
        peer = statistics.median(seconds["chatlint check"])
        for name in list(seconds)[:2]:
            print(f"{name:32} takes {statistics.median(seconds[name]) / peer:.2f} of chatlint's time")


def _sample(arguments: argparse.Namespace, environment: dict[str, str]) -> None:
    files = sorted(corpus().glob("*.jinja"))
    ratios = []
    for file in random.Random(arguments.seed).sample(files, arguments.sample):
        medians = {name: statistics.median(values) for name, values in _seconds(file, arguments, environment).items()}
        ratio = medians["template-lint check --no-cache"] / medians["chatlint check"]
        ratios.append(ratio)
        print(f"{ratio:5.2f}  {medians['chatlint check'] * 1000:5.0f} ms  {file.name}")
    print(
        f"template-lint check --no-cache takes {statistics.median(ratios):.2f} of chatlint's time in the median of "
        f"{len(ratios)} files ({min(ratios):.2f} to {max(ratios):.2f})"
    )


def _seconds(file: Path, arguments: argparse.Namespace, environment: dict[str, str]) -> dict[str, list[float]]:
    """Command -> wall seconds of each run of its whole process."""
    commands = {
        "template-lint check --no-cache": [ours(), "check", str(file), "--no-cache"],
        "template-lint check (cache)": [ours(), "check", str(file)],
    }
    if arguments.peer:
        commands["chatlint check"] = [arguments.peer, "check", str(file)]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        run(command, environment=environment)
    for _ in range(arguments.runs):
        for name, command in commands.items():
            seconds[name].append(run(command, environment=environment).seconds)
    return seconds


if __name__ == "__main__":
    main()
