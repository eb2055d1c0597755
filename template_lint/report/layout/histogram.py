"""A histogram as inline SVG: no script, colours by class, so that a style sheet decides for light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT, _BASE, _LEFT = 640, 170, 140, 6
_MOST_BARS = 80


class Bar(NamedTuple):
    """Values from ``low`` to below ``high``, and how many they are."""

    low: float
    high: float
    number: int


def bars(bins: Sequence[tuple[float, int]], width: float) -> list[Bar]:
    """At most 80 bars of one breadth for (lower edge, count) of bins that are ``width`` broad; empty bars included.

    What lies beyond the middle 99.8 % is drawn into the outermost bars.
    """
    total = sum(count for _, count in bins)
    if not total:
        return []
    low, high = _edge(bins, 0.001 * total), _edge(list(reversed(bins)), 0.001 * total) + width
    step = width * max(1, math.ceil(round((high - low) / width) / _MOST_BARS))
    number = max(1, math.ceil(round((high - low) / step, 6)))
    counts = [0] * number
    for edge, count in bins:
        counts[min(max(int(round((edge - low) / step, 6)), 0), number - 1)] += count
    return [Bar(low + index * step, low + (index + 1) * step, count) for index, count in enumerate(counts)]


def _edge(bins: Sequence[tuple[float, int]], beyond: float) -> float:
    seen = 0
    for edge, count in bins:
        seen += count
        if seen > beyond:
            return edge
    return bins[-1][0]


def histogram(drawn: Sequence[Bar], label: str, unit: str, marks: Sequence[float] = ()) -> str:
    """The SVG element. Heights are square roots of counts, so that few are visible beside many.

    ``label`` is read to those who do not see it; ``marks`` are values that a dashed line stands at. Both texts must be
    our own: nothing is escaped here.
    """
    low, high = drawn[0].low, drawn[-1].high
    tallest = math.sqrt(max(bar.number for bar in drawn))
    scale = (WIDTH - 2 * _LEFT) / (high - low)

    def x(value: float) -> float:
        return _LEFT + (value - low) * scale

    parts = [f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">']
    for bar in drawn:
        if bar.number:
            height = max(1.5, (_BASE - 14) * math.sqrt(bar.number) / tallest)
            said = f"{bar.low:.3g} to {bar.high:.3g} {unit}: {bar.number:,}"
            breadth = max(1.0, x(bar.high) - x(bar.low) - 1)
            place = f'x="{x(bar.low):.1f}" y="{_BASE - height:.1f}" width="{breadth:.1f}" height="{height:.1f}"'
            parts.append(f"<rect {place}><title>{said}</title></rect>")
    for mark in marks:
        if low < mark < high:
            parts.append(f'<line class="mark" x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="4" y2="{_BASE}"/>')
    parts.append(f'<line x1="{_LEFT}" x2="{WIDTH - _LEFT}" y1="{_BASE}" y2="{_BASE}"/>')
    ticks = [(low, "start"), (high, "end")]
    if low < 0 < high and min(-low, high) > 0.15 * (high - low):
        ticks.append((0.0, "middle"))
    for value, anchor in ticks:
        parts.append(f'<text x="{x(value):.1f}" y="{_BASE + 20}" text-anchor="{anchor}">{value:.3g}</text>')
    return "".join([*parts, "</svg>"])
