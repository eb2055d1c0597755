"""Peak memory of scoring, in stretches and at once, for T ids and the vocabulary of Qwen3.

    python benchmarks/scoring.py [--length 2048] [--vocabulary 151936]

Each way runs in a process of its own; the figure is what scoring adds to the process after the model was made. The
model is tiny and random, so nearly all of it is logits.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

WAYS = ("stretches of 256", "stretches of 64", "at once", "one forward pass, float32 logits")


def main() -> None:
    """Print a table; ``--way`` is how this script calls itself."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--vocabulary", type=int, default=151_936)
    parser.add_argument("--way", choices=WAYS)
    arguments = parser.parse_args()
    if arguments.way is not None:
        print(measure(arguments.way, arguments.length, arguments.vocabulary))
        return
    print(f"T = {arguments.length}, V = {arguments.vocabulary}: logits of one buffer in float32 are ", end="")
    print(f"{arguments.length * arguments.vocabulary * 4 / 2**20:.0f} MiB")
    for way in WAYS:
        command = [sys.executable, __file__, "--way", way, "--length", str(arguments.length)]
        command += ["--vocabulary", str(arguments.vocabulary)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(f"{way:34} {printed.strip()}")


def measure(way: str, length: int, vocabulary: int) -> str:
    """Score one buffer and say what it took."""
    import time

    import torch

    from template_lint.audit.scoring.scorer import Buffer, Scorer
    from tests.audit.scoring.models import tiny_model

    model = tiny_model(vocabulary=vocabulary, width=64)
    ids = torch.randint(0, vocabulary, (length,)).tolist()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    if way == WAYS[3]:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :-1].float()
            total = torch.log_softmax(logits, -1).gather(-1, torch.tensor(ids[1:]).unsqueeze(-1)).sum().item()
    else:
        chunk = length if way == "at once" else int(way.rsplit(" ", 1)[1])
        [scores] = Scorer(model, chunk=chunk).score([Buffer(ids)])
        total = scores.logprobs.sum().item()
    took = time.perf_counter() - started
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return f"{peak:7.0f} MiB more at the peak, {took:5.1f} s, sum of log-probabilities {total:.2f}"


if __name__ == "__main__":
    main()
