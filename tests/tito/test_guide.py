"""The guide "Why tokens, not text": its blocks run in order and print what stands under them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "why-tokens-not-text.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_runs_and_prints_what_it_says() -> None:
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    assert len(blocks) == 16
    assert [kind for kind, _ in blocks] == ["python", "text"] * 8, "each block of code is followed by what it prints"
    names: dict[str, object] = {}
    for (_, code), (_, expected) in zip(blocks[::2], blocks[1::2], strict=True):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(GUIDE), "exec"), names)
        assert printed.getvalue() == expected, code
