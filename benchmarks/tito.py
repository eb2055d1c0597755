"""How long the TITO harness takes: all scenarios, 32 segmentations, after the tokenizer is loaded; and what it shows.

    python benchmarks/tito.py [--segmentations 32] [--engine mirror|transformers]

One row for each of six real tokenizers with a chat template of its model, in this process. The target is 5 s a model on
an idle machine; ``cpu`` are seconds of processor time, of all threads.
Inputs: what scripts/fetch_inputs.py fetches.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.fetch_inputs import default_folder  # noqa: E402
from template_lint.rendering.profiles import installed_profile  # noqa: E402
from template_lint.snapshot.load import load_snapshot  # noqa: E402
from template_lint.snapshot.special_tokens import special_tokens  # noqa: E402
from template_lint.target import parse_target  # noqa: E402
from template_lint.tito.evidence import Status  # noqa: E402
from template_lint.tito.harness import ENGINES, TitoJob, TitoOptions, examine, load  # noqa: E402
from template_lint.tito.report import TemplateTito  # noqa: E402

MODELS = {
    "Qwen3": ("qwen3", "Qwen-Qwen3-0.6B@a55ee1"),
    "gpt-oss": ("gptoss", "openai-gpt-oss-120b"),
    "Llama 3.1": ("llama3_1", "meta-llama-Llama-3.1-8B-Instruct"),
    "Gemma 3": ("gemma3", "unsloth-gemma-3-270m-it"),
    "DeepSeek V3": ("deepseek_v3", "ByteDance-Seed-academic-ds-9B"),
    "Llama 2": ("llama2", "huggyllama-llama-7b"),
}
HEADER = (
    "model",
    "verdict",
    "delta",
    "buffers",
    "drifted",
    "silent",
    "straddling",
    "max ratio",
    "clipped",
    "seconds",
    "cpu",
)
WIDTHS = (12, 15, 8, 7, 8, 6, 10, 9, 7, 7, 5)


def job(tokenizer: str, template: str, options: TitoOptions) -> TitoJob:
    """The job that ``template-lint tito`` would give its worker."""
    root = default_folder()
    profile = installed_profile()
    donor = load_snapshot(parse_target(str(root / "tokenizers" / tokenizer)), profile_version=profile.version)
    snapshot = load_snapshot(parse_target(str(root / "corpus" / f"{template}.jinja")))
    return TitoJob(
        copy=snapshot.templates[0],
        snapshot=snapshot,
        tokenizer=donor,
        profile=profile,
        variables=special_tokens(donor, profile.version),
        conversations=[],
        options=options,
    )


def delta_word(found: TemplateTito) -> str:
    """Whether tool deltas are right: yes, no with the rule, or none."""
    checks = [check for check in found.checks if check.name in ("buffer-after-tool", "delta-from-dummy")]
    wrong = next((check for check in checks if check.status is Status.FAIL), None)
    if wrong is not None:
        return f"{wrong.rule}"
    return "sound" if checks[0].status is Status.PASS else "no tools"


def row(name: str, found: TemplateTito, seconds: float, processor: float) -> tuple[str, ...]:
    """One line of the table."""
    assert found.drift is not None and found.ratio is not None
    drift, ratio = found.drift, found.ratio
    return (
        name,
        found.verdict.tito,
        delta_word(found),
        str(drift.buffers),
        f"{100 * drift.drifted_tokens / drift.tokens:.1f} %",
        str(drift.silent),
        str(drift.straddling),
        "-" if ratio.reencoded_maximum is None else f"{ratio.reencoded_maximum:.3g}",
        "-" if ratio.reencoded_outside_clip is None else f"{100 * ratio.reencoded_outside_clip:.0f} %",
        f"{seconds:.2f}",
        f"{processor:.2f}",
    )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--segmentations", type=int, default=32)
    parser.add_argument("--engine", choices=ENGINES, default="mirror")
    arguments = parser.parse_args()
    options = TitoOptions(segmentations=arguments.segmentations, engine=arguments.engine)
    print(f"transformers {installed_profile().label}, {options.engine}, {options.segmentations} segmentations")
    print("  ".join(word.ljust(width) for word, width in zip(HEADER, WIDTHS, strict=True)).rstrip())
    slowest = 0.0
    for name, (tokenizer, template) in MODELS.items():
        work = job(tokenizer, template, options)
        loaded = load(work)
        started, cpu = perf_counter(), process_time()
        found = examine(*loaded, options)
        seconds, processor = perf_counter() - started, process_time() - cpu
        slowest = max(slowest, seconds)
        cells = row(name, found, seconds, processor)
        print("  ".join(word.ljust(width) for word, width in zip(cells, WIDTHS, strict=True)).rstrip())
        if found.ratio is not None and found.ratio.tito_maximum_error:
            print(f"  the ratio on the kept ids is off by {found.ratio.tito_maximum_error}")
    print(f"slowest: {slowest:.2f} s (target: below 5 s)")
    return int(slowest >= 5)


if __name__ == "__main__":
    sys.exit(main())
