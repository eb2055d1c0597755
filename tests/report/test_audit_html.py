"""The page of an audit: self-contained, whole, and safe whatever a rollout says."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from template_lint.audit.auditor import Auditor
from template_lint.audit.model import Origin, RowError, Strip, Token
from template_lint.audit.run import Audit, Request, audit
from template_lint.audit.sample.make import dump, make_sample
from template_lint.audit.summary import Summary
from template_lint.report.audit.html import write
from template_lint.report.layout.canvas import Canvas
from tests.audit.conftest import auditor, target
from tests.report.pages import HOSTILE, Page, in_a_browser

__all__ = ["auditor", "target"]  # fixtures


def page(result: Audit) -> str:
    out = io.StringIO()
    write(result, out, canvas=Canvas())
    return out.getvalue()


def audited(auditor: Auditor, folder: Path, **options: Any) -> Audit:
    lines = [dump(row) for row in make_sample(auditor, 150, **options)]
    (folder / "rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return audit(Request((str(folder / "rollouts.jsonl"),), auditor.options.target, transformers="5.24", jobs=1))


@pytest.fixture(scope="module")
def planted(auditor: Auditor, tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return audited(auditor, tmp_path_factory.mktemp("page"), rate=0.03)


def test_it_needs_nothing_from_elsewhere(planted: Audit) -> None:
    text = page(planted)
    parsed = Page(text)
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in parsed.tags}
    assert all(link.startswith("data:") for link in [*parsed.attributes("href"), *parsed.attributes("src")])
    assert not re.search(r"url\(|@import|https?://", text)
    assert "default-src 'none'" in text


def test_the_answer_comes_first_then_what_to_do(planted: Audit) -> None:
    text = Page(page(planted)).text
    places = [text.index(part) for part in ("not sound", "TLA", "Fix:", "Importance ratios", "furthest apart")]
    assert places == sorted(places)


def test_every_rule_that_was_asked_has_a_row(planted: Audit) -> None:
    text = Page(page(planted)).text
    asked = [code for code, tally in planted.summary.tallies.items() if tally.asked]
    assert len(asked) > 15
    table = text[text.index("rules that could be asked") :]
    assert all(code in table for code in [*asked, "TLA20"])


def test_bars_add_up_to_all_tokens(planted: Audit) -> None:
    counts = [int(number.replace(",", "")) for number in re.findall(r"nats: ([\d,]+)</title>", page(planted))]
    health = planted.summary.health
    assert sum(counts) == health.logs.total + health.sequence_logs.total


def test_strips_are_coloured_by_mask_and_ratio(planted: Audit) -> None:
    classes = Page(page(planted)).attributes("class")
    words = {word for text in classes for word in text.split()}
    assert {"model", "prompt", "changed"} <= words
    assert words & {"above1", "above2", "above3"} and words & {"below1", "below2", "below3"}


def test_a_sound_run_says_so(auditor: Auditor, tmp_path: Path) -> None:
    text = Page(page(audited(auditor, tmp_path, plants=[]))).text
    assert "sound" in text and "no error in 150 trajectories" in text
    assert "Fix:" not in text


def test_it_is_the_same_twice(planted: Audit) -> None:
    assert page(planted) == page(planted)


def test_text_of_a_rollout_stays_text(planted: Audit) -> None:
    strip = Strip(Origin(0, 1), 1.0, HOSTILE, 3, 0, (Token(1, HOSTILE, True, -2.0, True),), ((2, HOSTILE),))
    summary = Summary()
    summary.trajectories, summary.worst_ratio, summary.worst_drift = 1, [strip], [strip]
    summary.add_error(RowError(Origin(0, 2), "not-json", HOSTILE))
    summary.unreadable.append((0, HOSTILE))
    summary.assumed[HOSTILE] = 1
    source = planted.sources[0]._replace(name=HOSTILE)
    hostile = planted._replace(summary=summary, sources=[source], request=planted.request._replace(target=HOSTILE))
    text = page(hostile)
    parsed = Page(text)
    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}
    assert not any(name.startswith("on") for _, attrs in parsed.tags for name in attrs)
    assert "\x1b" not in text and "\u202e" not in text
    assert "\\x1b[31m" in parsed.text and "49" not in parsed.text


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (380, "light"), (380, "dark")])
def test_a_browser_shows_it_without_a_complaint(planted: Audit, tmp_path: Path, width: int, scheme: str) -> None:
    height = "document.querySelector('svg.histogram rect').getBoundingClientRect().height"
    assert in_a_browser(page(planted), tmp_path, width, scheme, height) > 0
