"""Try mutants of real templates for as long as you like, and keep what breaks a law.

    python scripts/fuzz.py --minutes 30 --seed 7 --keep escapes/

Prints what was tried. Exit 1 where a law was broken: each reproducer is a file NAME.jinja with NAME.txt beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.hostile.laws import Escape, escapes  # noqa: E402
from tests.hostile.mutator import mutate  # noqa: E402
from tests.hostile.seeds import seeds  # noqa: E402

BATCH = 16
REPEAT_EVERY = 5


def keep(escape: Escape, folder: Path) -> Path:
    """Write a template that breaks a law, and what it breaks."""
    data = escape.source.encode("utf-8", "surrogatepass")
    path = folder / f"{hashlib.sha256(data).hexdigest()[:12]}.jinja"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.with_suffix(".txt").write_text(f"{escape.law}\n\n{escape.detail}\n", encoding="utf-8", errors="replace")
    return path


def main() -> int:
    """Run until the time is up; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed tries the same mutants")
    parser.add_argument("--keep", type=Path, default=Path("escapes"), help="folder for reproducers (default escapes/)")
    arguments = parser.parse_args()
    sources, chance = seeds(), random.Random(arguments.seed)
    tried = repeated = found = 0
    ends = time.monotonic() + 60 * arguments.minutes
    while time.monotonic() < ends:
        twice = tried // BATCH % REPEAT_EVERY == 0
        batch = {f"m{index}": mutate(sources, chance) for index in range(BATCH)}
        with tempfile.TemporaryDirectory() as folder:
            broken = escapes(batch, Path(folder), twice=twice)
        tried += BATCH
        repeated += BATCH * twice
        for escape in broken:
            found += 1
            print(f"{escape.law}: {keep(escape, arguments.keep)}: {escape.detail.strip().splitlines()[-1][:160]}")
        if tried % (BATCH * 50) == 0:
            print(f"{tried} mutants, {found} escapes", flush=True)
    print(
        f"seed {arguments.seed}: {tried} mutants of {len(sources)} templates tried, {repeated} of them twice; "
        f"{found} escapes"
    )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
