"""What the bounds and the trace cost one render: plain, bounded, traced, on the same template and conversation.

python benchmarks/overhead.py [FILE] [--messages N]

The three take turns; each figure is the median of the rounds. Run in a process of its own: arming it cannot be undone.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from measure import corpus

from template_lint.rendering import limits
from template_lint.rendering.api import make_context
from template_lint.rendering.profiles import parse_profile
from template_lint.rendering.template import ChatTemplate
from template_lint.scenarios.catalogue import load_catalogue

ROUNDS = 60


def timed(render: Callable[[], object], repeat: int) -> float:
    """Seconds for one render."""
    started = perf_counter()
    for _ in range(repeat):
        render()
    return (perf_counter() - started) / repeat


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--messages", type=int, default=8)
    arguments = parser.parse_args()
    file = arguments.file or corpus() / "Qwen-Qwen3-0.6B@a55ee1.jinja"
    template = ChatTemplate(file.read_text(encoding="utf-8"), parse_profile("5.24"))
    scenario = next(scenario for scenario in load_catalogue() if scenario.name == "after-user-turn")
    messages = [scenario.messages[index % len(scenario.messages)] for index in range(arguments.messages)]
    context = make_context(messages, template.profile, tools=scenario.tools, add_generation_prompt=True)

    limits.arm_process()

    def unbounded() -> Any:
        limits.Limits.armed = False
        try:
            return template.render(context)
        finally:
            limits.Limits.armed = True

    assert unbounded().text == template.render(context).text == template.trace(context)[0].text
    seconds: dict[str, list[float]] = {"plain": [], "bounded": [], "traced and bounded": []}
    repeat = max(1, int(0.01 / timed(unbounded, 10)))
    for _ in range(ROUNDS):
        # A render of a template that used up its time would be refused, and be fast.
        template.limits = limits.Limits()
        seconds["plain"].append(timed(unbounded, repeat))
        seconds["bounded"].append(timed(lambda: template.render(context), repeat))
        seconds["traced and bounded"].append(timed(lambda: template.trace(context), repeat))
    plain = statistics.median(seconds["plain"])
    print(f"{file.name}, {len(messages)} messages, {len(unbounded().text or '')} characters")
    for name, values in seconds.items():
        median = statistics.median(values)
        ratios = statistics.median(value / base for value, base in zip(values, seconds["plain"], strict=True))
        print(f"{name:20} {median * 1e6:8.1f} us   {ratios:5.2f} of plain   +{(median - plain) * 1e6:.1f} us")


if __name__ == "__main__":
    main()
