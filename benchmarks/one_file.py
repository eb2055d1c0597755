"""The whole process for one file: ``template-lint check FILE`` and a peer, runs alternating.

python benchmarks/one_file.py [FILE] [--peer PATH_TO_CHATLINT] [--runs N]

Ours runs without and with its cache. The file is the Qwen3 template of the corpus where none is given.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from measure import corpus, ours, run, spread


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--peer", default=shutil.which("chatlint"), help="the chatlint command [default: on PATH]")
    parser.add_argument("--runs", type=int, default=15)
    arguments = parser.parse_args()
    file = str(arguments.file or corpus() / "Qwen-Qwen3-0.6B@a55ee1.jinja")
    commands = {
        "template-lint check --no-cache": [ours(), "check", file, "--no-cache"],
        "template-lint check (cache)": [ours(), "check", file],
    }
    if arguments.peer:
        commands["chatlint check"] = [arguments.peer, "check", file]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TEMPLATE_LINT_CACHE": cache}
        for command in commands.values():
            run(command, environment=environment)
        for _ in range(arguments.runs):
            for name, command in commands.items():
                seconds[name].append(run(command, environment=environment).seconds)
    for name, values in seconds.items():
        print(f"{name:32} {spread(values)}")
    if arguments.peer:
        peer = statistics.median(seconds["chatlint check"])
        for name in list(commands)[:2]:
            print(f"{name:32} takes {statistics.median(seconds[name]) / peer:.2f} of chatlint's time")


if __name__ == "__main__":
    main()
