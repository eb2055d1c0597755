"""A rule finds the same alone and among all others: facts remember, and what they remember must not show."""

from __future__ import annotations

import pytest

from tests.inputs import corpus_dir
from tests.rules.helper import inspect


@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "openai-gpt-oss-120b", "unsloth-r1-1776", "google-gemma-4-31B-it"])
def test_a_rule_alone_finds_what_it_finds_among_all(name: str) -> None:
    source = (corpus_dir() / f"{name}.jinja").read_text(encoding="utf-8")
    together = inspect(source)
    for code in together.checked:
        alone = inspect(source, codes=(code,))
        assert alone.findings == [finding for finding in together.findings if finding.rule == code], code
