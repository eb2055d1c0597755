"""Bars of a histogram, and the SVG that shows them."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from template_lint.report.layout.histogram import Bar, bars, histogram


def test_bars_hold_every_value_once() -> None:
    bins = [(index * 0.02, index + 1) for index in range(-50, 50) if index != -1]
    bins = [(edge, abs(count)) for edge, count in bins]
    drawn = bars(bins, 0.02)
    assert sum(bar.number for bar in drawn) == sum(count for _, count in bins)
    assert len(drawn) <= 80
    assert all(abs(first.high - second.low) < 1e-9 for first, second in pairwise(drawn))


def test_a_few_far_values_do_not_squeeze_the_rest() -> None:
    drawn = bars([(-20.0, 1), *[(index * 0.02, 10_000) for index in range(-5, 5)], (19.0, 2)], 0.02)
    assert drawn[0].low > -1 and drawn[-1].high < 1
    assert sum(bar.number for bar in drawn) == 100_003


def test_one_bin_is_one_bar() -> None:
    assert bars([(0.0, 7)], 0.02) == [Bar(0.0, 0.02, 7)]
    assert bars([], 0.02) == []


def test_the_drawing_is_well_formed_and_stays_inside() -> None:
    drawing = ElementTree.fromstring(histogram([Bar(-1, 0, 4), Bar(0, 1, 0), Bar(1, 2, 9)], "label", "nats", [0.5, 7]))
    shown = drawing.findall("rect")
    assert len(shown) == 2 and len(drawing.findall("line")) == 2
    for rect in shown:
        assert float(rect.get("x", "-1")) >= 0 and float(rect.get("x", "0")) + float(rect.get("width", "0")) <= 640
        assert float(rect.get("y", "-1")) >= 0
    assert [title.text for title in drawing.iter("title")] == ["-1 to 0 nats: 4", "1 to 2 nats: 9"]
