"""How much of the speed of the tokenizers library is left when buffers are re-encoded *and compared*.

    python benchmarks/reencode.py [FOLDER_OF_A_TOKENIZER]

Raw is ``decode_batch`` and ``encode_batch`` of the library and nothing else; ours is ``measure_many`` on the same
buffers in the same process, runs of both alternating. The ratio is that of the best runs. The buffers hold text of this
repository in turns of a tool-calling conversation. In the three loads no, one in ten, or every sampled turn is one of
the other segmentations of its text. Without a folder: the Qwen3 tokenizer that scripts/fetch_inputs.py fetches.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.fetch_inputs import default_folder  # noqa: E402
from template_lint.snapshot.load import load_snapshot  # noqa: E402
from template_lint.target import parse_target  # noqa: E402
from template_lint.tito.buffer import Buffer  # noqa: E402
from template_lint.tito.drift import Verdict, measure_many  # noqa: E402
from template_lint.tito.segmentation import alternatives  # noqa: E402
from template_lint.tokenization import Tokenization, load_tokenization  # noqa: E402

RUNS = 20
TURN_CHARACTERS = 400
TURNS = 12
BUFFERS = 120


def texts() -> list[str]:
    """Turns of text: the Python files of the package, cut at equal lengths."""
    whole = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "template_lint").rglob("*.py")))
    return [whole[start : start + TURN_CHARACTERS] for start in range(0, len(whole), TURN_CHARACTERS)]


def buffers(tokenization: Tokenization, one_in: int | None) -> list[Buffer]:
    """Buffers of TURNS turns parted by a special token, every second one sampled, ``one_in`` of these re-segmented."""
    turns = tokenization.encode_batch(texts())
    separator = min(tokenization.special_ids)
    made = []
    sampled_turns = 0
    for number in range(BUFFERS):
        buffer = Buffer()
        for turn in range(TURNS):
            ids = turns[(number * TURNS + turn) % len(turns)]
            sampled = turn % 2 == 1
            sampled_turns += sampled
            if sampled and one_in is not None and sampled_turns % one_in == 0:
                ids = alternatives(tokenization, ids, seed=sampled_turns, count=1)[0]
            buffer.extend(ids, sampled=sampled)
            buffer.extend([separator], sampled=False)
        made.append(buffer)
    return made


def best_seconds(tokenization: Tokenization, chosen: list[Buffer]) -> tuple[float, float]:
    """Seconds of the fastest of RUNS runs: raw, ours."""
    raw_tokenizer = tokenization._tokenizer
    batch = [buffer.ids for buffer in chosen]
    raw, ours = [], []
    for _ in range(RUNS):
        start = perf_counter()
        decoded = raw_tokenizer.decode_batch(batch, skip_special_tokens=False)
        raw_tokenizer.encode_batch(decoded, add_special_tokens=False)
        raw.append(perf_counter() - start)
        start = perf_counter()
        measure_many(tokenization, chosen)
        ours.append(perf_counter() - start)
    return min(raw), min(ours)


def main() -> None:
    """Print one line per load."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default_folder() / "tokenizers" / "qwen3"
    tokenization = load_tokenization(load_snapshot(parse_target(str(folder))))
    for name, one_in in (("no turn re-segmented", None), ("one turn in ten", 10), ("every turn", 1)):
        chosen = buffers(tokenization, one_in)
        tokens = sum(len(buffer.ids) for buffer in chosen)
        drifted = sum(drift.verdict is not Verdict.CLEAN for drift in measure_many(tokenization, chosen))
        raw, ours = best_seconds(tokenization, chosen)
        print(
            f"{folder.name}: {name}: {len(chosen)} buffers, {drifted} drifted, {tokens} tokens; "
            f"raw {tokens / raw / 1e6:.2f} Mtoken/s, ours {tokens / ours / 1e6:.2f} Mtoken/s, ratio {raw / ours:.3f}"
        )


if __name__ == "__main__":
    main()
