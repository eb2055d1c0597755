"""How many templates of the corpus are repaired and marked, how, and how fast.

    python benchmarks/repair.py [--every N]

Repair: the templates that know tools and fail TL101. Markers: the templates that know tools, on what the repair gives.
The seconds are those of the processor, one template after the other, without compiling the original. Every N-th
template only where --every is given. The corpus is the one that scripts/fetch_inputs.py fetches.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.fetch_inputs import default_folder  # noqa: E402
from template_lint.facts import TemplateFacts  # noqa: E402
from template_lint.facts.prefix import Appended  # noqa: E402
from template_lint.patches.markers import insert_markers  # noqa: E402
from template_lint.patches.pair import sibling  # noqa: E402
from template_lint.patches.repair import Result, repair  # noqa: E402
from template_lint.rendering.profiles import parse_profile  # noqa: E402
from template_lint.snapshot.special_tokens import PLACEHOLDER_TOKENS  # noqa: E402


def main() -> None:
    """Print both tables and what was not done, with reasons."""
    every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
    repairs: Counter[str] = Counter()
    markers: Counter[str] = Counter()
    seconds: dict[str, list[float]] = {"repair": [], "markers": []}
    for path in sorted((default_folder() / "corpus").glob("*.jinja"))[::every]:
        source = path.read_text(encoding="utf-8")
        facts = TemplateFacts(source, parse_profile("5.24"), variables=PLACEHOLDER_TOKENS)
        if facts.compile_error is not None or not facts.static.reads_tools:
            continue
        broken = any(not question.holds for question in facts.answered(Appended.TOOL))
        started = time.process_time()
        repaired = repair(facts)
        if broken:
            seconds["repair"].append(time.process_time() - started)
            done = repaired.result is Result.REPAIRED
            repairs["unrepaired" if not done else "safe" if repaired.safe else "unsafe"] += 1
            if not done or not repaired.safe:
                print(f"{path.name}: {repaired.reason if not done else repaired.altered[0]}")
        started = time.process_time()
        marked = insert_markers(sibling(facts, repaired.source))
        seconds["markers"].append(time.process_time() - started)
        markers[marked.result.value] += 1
        if marked.result is Result.UNREPAIRED:
            print(f"{path.name}: {marked.reason}")
    for name, counts in (("repair", repairs), ("markers", markers)):
        figures = ", ".join(f"{key} {count}" for key, count in sorted(counts.items()))
        taken = seconds[name]
        total, middle = sum(counts.values()), median(taken)
        print(f"{name}: {total} templates: {figures}; median {middle:.2f} s, worst {max(taken):.1f} s")


if __name__ == "__main__":
    main()
