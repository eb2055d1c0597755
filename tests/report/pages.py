"""What the tests of pages look at them with: a parser that holds them to their form, and a browser."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\x1b[31m\u202e{{ 7 * 7 }}&lt;"

_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_VOID = {"meta", "link", "br"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where a tag is not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags for key, value in attrs.items() if key == name and value is not None]


def in_a_browser(text: str, folder: Path, width: int, scheme: Any, expression: str, media: Any = "screen") -> Any:
    """The value of a JavaScript expression in a page that Chromium shows ``width`` pixels wide in a colour scheme.

    ``media`` is ``print`` for the page on paper. Fails where the browser complains, something is fetched, or the page
    is wider than the window.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright to look at the page")
    if _CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    file = folder / "page.html"
    file.write_text(text, encoding="utf-8")
    said: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        view = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        view.on("console", lambda message: said.append(message.text))
        view.on("pageerror", lambda error: said.append(str(error)))
        view.on("request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None)
        view.emulate_media(media=media)
        view.goto(file.as_uri())
        overflow = view.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        value = view.evaluate(expression)
        browser.close()
    assert said == [] or all(url.startswith("data:") for url in said)
    assert overflow == 0
    return value
