"""What the audit finds, how fast it is, and how much memory it takes.

    python benchmarks/audit.py planted [ROWS] [FOLDER]     each defect in 1 % of ROWS (10,000) synthetic rollouts
    python benchmarks/audit.py speed [FOLDER]              ours against bare decode_batch + encode_batch, same ids
    python benchmarks/audit.py memory [FOLDER]             peak memory of the command, 10 MB and 1 GB of rows

Without a folder: the Qwen3 tokenizer that scripts/fetch_inputs.py fetches, with the 151,936 embedding rows of Qwen3.
``planted`` counts a rule's finding as a false alarm where neither the planted defect nor what follows from it (see
``plants``) explains it. ``speed`` compares best runs, alternating, in one process and in two.
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
from pathlib import Path
from time import perf_counter

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

EMBEDDING_ROWS = 151_936
FIELDS = preset("template-lint")
RUNS = 7
CHUNK = 200


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
    """Print tokens per second and the ratio, in one process and in two, without and with prompts to render."""
    auditor = Auditor(AuditOptions(folder, FIELDS))
    rows = [row for made, _ in chunks(auditor, 600, 0.0) for row in made]
    bare = [row for row in rows if row.rollout is None]
    tokens = sum(len(row.ids) for row in bare)
    for count in (1, 2):
        ours, raw = _best(folder, count)
        print(
            f"{count} process{'es' if count > 1 else ''}: {tokens:,} tokens; raw {tokens / raw / 1e6:.2f} Mtoken/s, "
            f"audit {tokens / ours / 1e6:.2f} Mtoken/s, ratio {raw / ours:.3f}"
        )


def _best(folder: str, count: int) -> tuple[float, float]:
    """Seconds of the best runs (ours, raw) on 600 rollouts split over ``count`` processes that start together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(count)
    with context.Pool(count, _prepare, (folder, count, barrier, context.Value("i", 0))) as pool:
        best = [float("inf"), float("inf")]
        for _ in range(RUNS):
            for which in (0, 1):
                best[which] = min(best[which], max(pool.map(_timed, [which] * count, chunksize=1)))
    return best[0], best[1]


_state: dict[str, object] = {}


def _prepare(folder: str, count: int, barrier: object, ticket: object) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    with ticket.get_lock():  # type: ignore[attr-defined]
        own = ticket.value  # type: ignore[attr-defined]
        ticket.value += 1  # type: ignore[attr-defined]
    auditor = Auditor(AuditOptions(folder, FIELDS, render=False))
    rows = [row for made, _ in chunks(auditor, 600, 0.0) for row in made if row.rollout is None]
    _state.update(auditor=auditor, rows=rows[own::count], barrier=barrier)


def _timed(which: int) -> float:
    auditor, rows = _state["auditor"], _state["rows"]
    assert isinstance(auditor, Auditor) and isinstance(rows, list)
    tokenizer = auditor.tokenization._tokenizer
    lists = [row.ids.tolist() for row in rows]
    _state["barrier"].wait()  # type: ignore[attr-defined]
    start = perf_counter()
    if which == 0:
        for at in range(0, len(rows), CHUNK):
            audit_many(rows[at : at + CHUNK], auditor)
    else:
        for at in range(0, len(rows), CHUNK):
            texts = tokenizer.decode_batch(lists[at : at + CHUNK], skip_special_tokens=False)
            tokenizer.encode_batch(texts, add_special_tokens=False)
    return perf_counter() - start


def memory(folder: str, scratch: Path) -> None:
    """Print the peak memory of the whole command (all its processes) for a small and a large file of the same rows."""
    auditor = Auditor(AuditOptions(folder, FIELDS))
    lines = "".join(dump(row) + "\n" for row in make_sample(auditor, 900, rate=0.002)).encode()
    for copies in (1, 100):
        path = scratch / "rollouts.jsonl"
        with path.open("wb") as out:
            for _ in range(copies):
                out.write(lines)
        code = "import sys; sys.argv = ['template-lint', *sys.argv[1:]]\nfrom template_lint.cli import main; main()"
        words = ["audit", str(path), "--tokenizer", folder, "--no-render", "-o", "json"]
        done = run([sys.executable, "-c", code, *words], environment={"PYTHONPATH": str(ROOT)}, watch=True)
        megabytes = copies * len(lines) / 1e6
        figures = f"exit {done.status}, peak {done.peak_mib:,.0f} MiB, {done.seconds:.0f} s"
        print(f"{megabytes:,.0f} MB: {figures}", flush=True)


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
            memory(target(scratch, sys.argv[2] if len(sys.argv) > 2 else None), scratch)
        else:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
