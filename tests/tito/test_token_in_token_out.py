"""The guide "Token in, token out": its blocks run in order and print what stands under them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "token-in-token-out.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_runs_and_prints_what_it_says() -> None:
    names: dict[str, object] = {}
    printed = ""
    compared = 0
    for kind, block in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        if kind == "python":
            assert printed == "", "what a block prints stands under it"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, str(GUIDE), "exec"), names)
            printed = out.getvalue()
        else:
            assert printed == block
            printed = ""
            compared += 1
    assert (printed, compared) == ("", 4)
