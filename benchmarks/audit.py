"""What the audit finds, how fast it is, and how much memory it takes.

    python benchmarks/audit.py planted [ROWS] [FOLDER]     each defect in 1 % of ROWS (10,000) synthetic rollouts
    python benchmarks/audit.py speed [FOLDER]              ours against bare decode_batch + encode_batch, same ids
    python benchmarks/audit.py memory [MB] [FOLDER]        peak memory of the command, 10 MB and MB (1,000) of rows

Without a folder: the Qwen3 tokenizer that scripts/fetch_inputs.py fetches, with the 151,936 embedding rows of Qwen3.
``planted`` counts a rule's finding as a false alarm where neither the planted defect nor what follows from it (see
``plants``) explains it. ``speed`` runs both in turn, in one process and in two, and prints medians: of the speeds, and
of the ratios of neighbouring runs. Nothing is remembered from the run before. The sample's rows are short, which is
hard on what is done once per row. ``memory``: every prompt is another, or 8 neighbouring rows have the same.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.measure import run  # noqa: E402
from scripts.fetch_inputs import default_folder  # noqa: E402
from template_lint.audit.auditor import AuditOptions, Auditor  # noqa: E402
from template_lint.audit.fields import preset  # noqa: E402
from template_lint.audit.model import Trajectory, TrajectoryResult  # noqa: E402
from template_lint.audit.rollouts import audit_many  # noqa: E402
from template_lint.audit.rows import trajectories  # noqa: E402
from template_lint.audit.sample.make import dump, make_sample  # noqa: E402
from template_lint.audit.sample.plants import PLANTS  # noqa: E402
from template_lint.audit.summary import Edge, history_flaw  # noqa: E402
from template_lint.rendering.limits import arm_process  # noqa: E402

EMBEDDING_ROWS = 151_936
FIELDS = preset("template-lint")
RUNS = 15
CHUNK = 200
ROWS = 600
GROUP = 8


def target(scratch: Path, given: str | None) -> str:
    """The folder to audit with: the user's, or Qwen3's files with the size of its embedding beside them."""
    if given is not None:
        return given
    folder = scratch / "qwen3"
    shutil.copytree(default_folder() / "tokenizers" / "qwen3", folder)
    (folder / "config.json").write_text(json.dumps({"vocab_size": EMBEDDING_ROWS}), encoding="utf-8")
    return str(folder)


def chunks(auditor: Auditor, count: int, rate: float) -> Iterator[tuple[list[Trajectory], list[str | None]]]:
    """Trajectories of a sample, with what is planted in each."""
    made: list[Trajectory] = []
    names: list[str | None] = []
    for number, row in enumerate(make_sample(auditor, count, rate=rate), 1):
        read = json.loads(dump(row))
        made += trajectories(read, FIELDS, 0, number)
        names.append(read.get("planted"))
        if len(made) == CHUNK:
            yield made, names
            made, names = [], []
    if made:
        yield made, names


def codes(result: TrajectoryResult) -> set[str]:
    """What an audit says of a trajectory."""
    said = {flaw.rule for flaw in result.flaws}
    if result.diagnosis is not None:
        said.add(result.diagnosis.cause)
    if result.drift is not None and result.drift.verdict != "CLEAN":
        said.add("drift")
    return said


def planted(folder: str, count: int) -> None:
    """Print the table of planted defects, and the confusion matrix of causes."""
    auditor = Auditor(AuditOptions(folder, FIELDS))
    total: Counter[str] = Counter()
    found: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    matrix: Counter[tuple[str, str]] = Counter()
    last: Edge | None = None
    for rows, names in chunks(auditor, count, 0.01):
        for row, name, result in zip(rows, names, audit_many(rows, auditor).results, strict=True):
            said = codes(result)
            edge = None if row.rollout is None else Edge(row.rollout, row.turn, row.origin, row.ids)
            if edge is not None and last is not None and edge.rollout == last.rollout and history_flaw(last, edge):
                said.add("TLA12")
            last = edge
            matrix[name or "sound", result.diagnosis.cause if result.diagnosis else "-"] += 1
            explained: set[str] = set()
            if name is not None:
                total[name] += 1
                found[name] += PLANTS[name].expected in said
                explained = {PLANTS[name].expected, *PLANTS[name].also}
            alarms.update(said - explained)
    print(f"{count:,} rollouts of {Path(folder).name}, each defect in 1 %\n")
    print("| planted | rule | planted in | found | missed | false alarms of the rule |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for name, plant in PLANTS.items():
        if total[name]:
            counts = (total[name], found[name], total[name] - found[name], alarms[plant.expected])
            print(f"| {plant.what} | {plant.expected} | {' | '.join(map(str, counts))} |")
    causes = [name for name, plant in PLANTS.items() if plant.expected >= "TLA31" and plant.expected.startswith("TLA3")]
    heads = sorted({said for _, said in matrix})
    print("\nrows: planted, columns: cause said\n\n| | " + " | ".join(heads) + " |\n| --- |" + " ---: |" * len(heads))
    for name in ["sound", *causes]:
        print(f"| {name} | " + " | ".join(str(matrix[name, head]) for head in heads) + " |")


def speed(folder: str) -> None:
    """Print tokens per second and the audit's share of the raw speed, by wall and by processor time."""
    auditor = Auditor(AuditOptions(folder, FIELDS))
    print("| rows | prompts | tokens | in prompts | processes | raw, Mtoken/s | audit, Mtoken/s | wall | processor |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in CASES:
        rows = _rows(auditor, case)
        tokens = sum(len(row.ids) for row in rows)
        shares = (
            f"{_distinct(rows):.1%} distinct | {tokens:,} | {sum(row.prompt_length or 0 for row in rows) / tokens:.0%}"
        )
        for count in (1, 2):
            runs = _runs(folder, case, count)
            speeds = " | ".join(f"{tokens / median(run[which].wall for run in runs) / 1e6:.2f}" for which in (1, 0))
            wall = median(raw.wall / ours.wall for ours, raw in runs)
            ratios = f"{wall:.2f} | {median(raw.processor / ours.processor for ours, raw in runs):.2f}"
            print(f"| {case} | {shares} | {count} | {speeds} | {ratios} |", flush=True)


CASES = {
    "--no-render": (False, lambda row: True, 1),
    "distinct": (True, lambda row: True, 1),
    "distinct, no tools": (True, lambda row: row.tools is None, 1),
    f"groups of {GROUP}": (True, lambda row: True, GROUP),
    f"groups of {GROUP}, no tools": (True, lambda row: row.tools is None, GROUP),
}
"""Whether prompts are rendered, which rows of the sample are taken, and how many of them share a prompt."""


def _rows(auditor: Auditor, case: str) -> list[Trajectory]:
    """ROWS rows: every one has its own prompt, or that of the first of its group."""
    _, chosen, group = CASES[case]
    sample = (row for made, _ in chunks(auditor, 8 * ROWS, 0.0) for row in made)
    rows = list(islice((row for row in sample if row.rollout is None and chosen(row)), ROWS))
    return [_behind(rows[index - index % group], row) for index, row in enumerate(rows)]


def _behind(first: Trajectory, row: Trajectory) -> Trajectory:
    """What follows the prompt of ``row``, behind the prompt of ``first``."""
    if first is row:
        return row
    end, own = first.prompt_length, row.prompt_length

    def joined(name: str) -> Any:
        return np.concatenate([getattr(first, name)[:end], getattr(row, name)[own:]])

    arrays = {name: joined(name) for name in ("ids", "mask", "logprobs", "trainer_logprobs")}
    return replace(row, **arrays, top=None, prompt_length=end, messages=first.messages, tools=first.tools)


def _distinct(rows: list[Trajectory]) -> float:
    return len({json.dumps([row.messages, row.tools]) for row in rows}) / len(rows)


class Times(NamedTuple):
    """Seconds: until the slowest process was done, and of processor time in all of them."""

    wall: float
    processor: float


def _runs(folder: str, case: str, count: int) -> list[tuple[Times, Times]]:
    """RUNS pairs of runs (ours, raw) that follow each other; rows are split over ``count`` processes."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(count)
    with context.Pool(count, _prepare, (folder, case, count, barrier, context.Value("i", 0))) as pool:

        def once(which: int) -> Times:
            parts = pool.map(_timed, [which] * count, chunksize=1)
            return Times(max(part.wall for part in parts), sum(part.processor for part in parts))

        return [(once(0), once(1)) for _ in range(RUNS)]


_state: dict[str, object] = {}


def _prepare(folder: str, case: str, count: int, barrier: object, ticket: object) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with ticket.get_lock():  # type: ignore[attr-defined]
        own = ticket.value  # type: ignore[attr-defined]
        ticket.value += 1  # type: ignore[attr-defined]
    auditor = Auditor(AuditOptions(folder, FIELDS, render=CASES[case][0]))
    rows = _rows(auditor, case)
    share = -(-len(rows) // count)
    _state.update(auditor=auditor, rows=rows[own * share : (own + 1) * share], barrier=barrier)
    arm_process()  # as workers are: a render is bounded, which costs a little


def _timed(which: int) -> Times:
    auditor, rows = _state["auditor"], _state["rows"]
    assert isinstance(auditor, Auditor) and isinstance(rows, list)
    for name in ("encoder", "prompts"):
        vars(auditor).pop(name, None)
    assert auditor.encoder.remembered_bytes == 0
    tokenizer = auditor.tokenization._tokenizer
    lists = [row.ids.tolist() for row in rows]
    _state["barrier"].wait()  # type: ignore[attr-defined]
    wall, processor = perf_counter(), process_time()
    for at in range(0, len(rows), CHUNK):
        if which == 0:
            audit_many(rows[at : at + CHUNK], auditor)
        else:
            texts = tokenizer.decode_batch(lists[at : at + CHUNK], skip_special_tokens=False)
            tokenizer.encode_batch(texts, add_special_tokens=False)
    return Times(perf_counter() - wall, process_time() - processor)


def memory(folder: str, scratch: Path, megabytes: int) -> None:
    """Print the peak memory of the whole command (all its processes) for a small and a large file of each kind."""
    auditor = Auditor(AuditOptions(folder, FIELDS))
    code = "import sys; sys.argv = ['template-lint', *sys.argv[1:]]\nfrom template_lint.cli import main; main()"
    path = scratch / "rollouts.jsonl"
    words = ["audit", str(path), "--tokenizer", folder, "-o", "json"]
    for group in (1, GROUP):
        for size in (10, megabytes):
            written = rows = 0
            with path.open("wb") as out:
                for row in make_sample(auditor, size * 1000, rate=0.002, seed=size):
                    line = (dump(row) + "\n").encode() * group
                    out.write(line)
                    written, rows = written + len(line), rows + group
                    if written >= size * 1_000_000:
                        break
            done = run([sys.executable, "-c", code, *words], environment={"PYTHONPATH": str(ROOT)}, watch=True)
            figures = f"exit {done.status}, peak {done.peak_mib:,.0f} MiB, {done.seconds:.0f} s"
            print(f"{rows:,} rows, {written / 1e6:,.0f} MB, each prompt {group} times: {figures}", flush=True)


def main() -> None:
    """Run one of the three."""
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        if what == "planted":
            count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
            planted(target(scratch, sys.argv[3] if len(sys.argv) > 3 else None), count)
        elif what == "speed":
            speed(target(scratch, sys.argv[2] if len(sys.argv) > 2 else None))
        elif what == "memory":
            megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
            memory(target(scratch, sys.argv[3] if len(sys.argv) > 3 else None), scratch, megabytes)
        else:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
