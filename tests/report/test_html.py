"""The page: self-contained, whole, and safe whatever a template says."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from template_lint import check
from template_lint.config import Options
from template_lint.model import Report
from template_lint.report.html import MOST_TEMPLATES, write
from template_lint.report.layout.canvas import Canvas
from tests.report.pages import HOSTILE, Page, in_a_browser
from tests.report.samples import file_target, prefix_finding, report, template_report
from tests.tito import toy_models

EXAMPLES = Path(__file__).parents[2] / "examples"


def page(result: Report) -> str:
    out = io.StringIO()
    write(result, out, canvas=Canvas())
    return out.getvalue()


def checked(*targets: Path, **options: Any) -> Report:
    return check(list(targets), config=Options(display=True, transformers="5.24", cache=False, **options))


@pytest.fixture(scope="module")
def examples() -> str:
    return page(checked(*sorted(EXAMPLES.glob("*.jinja"))))


def test_it_needs_nothing_from_elsewhere(examples: str) -> None:
    parsed = Page(examples)
    assert not {"script", "iframe", "object", "img"} & {tag for tag, _ in parsed.tags}
    assert all(link.startswith(("#", "data:")) for link in [*parsed.attributes("href"), *parsed.attributes("src")])
    assert not re.search(r"url\(|@import|https?://", examples)
    assert "default-src 'none'" in examples


def test_it_shows_what_a_reader_looks_for(examples: str) -> None:
    text = Page(examples).text
    assert "breaks the prefix in tool loops" in text
    assert "TL101 tool-prefix" in text
    assert "side by side; they part at character" in text
    assert "What it can render" in text
    assert "Who wrote what" in text
    assert "loop.last or loop.nextitem" in text


def test_with_a_tokenizer_the_strips_are_tokens(tmp_path: Path) -> None:
    alone, model = checked(EXAMPLES / "fixed.jinja"), checked(toy_models.folder(tmp_path, toy_models.SOUND))
    assert "no tokenizer was given" in page(alone)
    assert "no tokenizer was given" not in page(model)
    assert re.search(r"\d+ tokens", Page(page(model)).text)


def test_every_link_leads_to_a_line(examples: str) -> None:
    parsed = Page(examples)
    places = set(parsed.attributes("id"))
    targets = [link[1:] for link in parsed.attributes("href") if link.startswith("#")]
    assert targets
    assert set(targets) <= places


def test_the_condition_is_marked(examples: str) -> None:
    assert re.search(r"<mark>loop.last or loop.nextitem.role != &#39;tool&#39;</mark>", examples)


def test_it_is_the_same_twice() -> None:
    assert page(checked(EXAMPLES / "broken.jinja")) == page(checked(EXAMPLES / "broken.jinja"))


def test_text_of_a_template_stays_text() -> None:
    finding = prefix_finding(message=HOSTILE, remedy=HOSTILE, suppressed="config", suppression_reason=HOSTILE)
    target = file_target(template_report(finding, capabilities={}, source=HOSTILE + "\n{{ loop.last }}"), name=HOSTILE)
    text = page(report(target))
    parsed = Page(text)
    assert not {"script", "img"} & {tag for tag, _ in parsed.tags}
    assert not any(name.startswith("on") for _, attrs in parsed.tags for name in attrs)
    assert "\x1b" not in text and "\u202e" not in text
    assert "49" not in parsed.text


def test_what_was_hidden_says_why() -> None:
    finding = prefix_finding(suppressed="inline", suppression_reason="known")
    assert "suppressed (inline: known)" in page(report(file_target(template_report(finding, capabilities={}))))


def test_of_many_templates_the_worst_are_told() -> None:
    clean = [
        file_target(template_report(capabilities={}), name=f"clean{number}.jinja") for number in range(MOST_TEMPLATES)
    ]
    text = page(report(*clean, file_target(template_report(prefix_finding(), capabilities={}), name="bad.jinja")))
    assert f"Only the {MOST_TEMPLATES} templates" in text
    assert 'href="#t40">bad.jinja' in text
    assert "clean39.jinja" in text


def test_the_overview_tells_bad_from_good() -> None:
    good = file_target(template_report(capabilities={}), name="good.jinja")
    text = page(report(good, file_target(template_report(prefix_finding(), capabilities={}), name="bad.jinja")))
    assert '<td class="ok">no findings</td>' in text
    assert '<td class="error">1 error</td>' in text


def test_one_is_no_plural() -> None:
    text = Page(page(report(file_target(template_report(source="{{ messages }}", capabilities={}))))).text
    assert "The template, 1 line" in text and "1 lines" not in text


def test_paper_has_no_scroll_bars(examples: str, tmp_path: Path) -> None:
    clipped = (
        "[...document.querySelectorAll('.scroll, .pair pre')].filter(e => e.clientHeight && (e.scrollWidth >"
        " e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)).length"
    )
    assert in_a_browser(examples, tmp_path, 700, "light", clipped) > 0
    assert in_a_browser(examples, tmp_path, 700, "light", clipped, media="print") == 0


def test_an_unread_target_is_said_first(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe\x00")
    text = page(checked(tmp_path / "chat_template.jinja"))
    assert text.index("not checked") < text.index("</main>")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (1200, "dark"), (360, "light"), (360, "dark")])
def test_a_browser_shows_it_without_a_complaint(examples: str, tmp_path: Path, width: int, scheme: str) -> None:
    colours = "getComputedStyle(document.body).color + getComputedStyle(document.body).backgroundColor"
    contrast = in_a_browser(examples, tmp_path, width, scheme, colours)
    assert len(set(re.findall(r"rgb[^)]*\)", contrast))) == 2
