"""The command line: parse, call, print, exit. Every module of this package is one command (its ``command``).

A command's module is imported only when it is asked for, so that ``check`` pays for nothing else.
"""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    gc.set_threshold(100_000, 20, 20)  # start-up makes many objects and hardly any garbage
    if sys.argv[1:2] == ["check"]:
        from template_lint.workers import prestart

        prestart("template_lint.inspection:prepare_worker")
    from template_lint.cli.support.program import program

    program.main(prog_name="template-lint")
    raise AssertionError("program.main() exits")
