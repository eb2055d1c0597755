"""The command line: parse, call, print, exit. Every module of this package is one command (its ``command``).

A command's module is imported only when it is asked for, so that ``check`` pays for nothing else.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    gc.set_threshold(100_000, 20, 20)  # start-up makes many objects and hardly any garbage
    if sys.argv[1:2] == ["check"]:
        from template_lint.workers import prestart

        prestart("template_lint.inspection:prepare_worker")
    from template_lint.cli.support.program import program

    try:
        program.main(prog_name="template-lint")
    except SystemExit as leaving:
        _leave(leaving)


def _leave(leaving: SystemExit) -> NoReturn:
    """Leave at once: all output is out, and taking the interpreter down costs as much as reading a template."""
    if not isinstance(leaving.code, int):
        raise leaving
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        raise leaving from None
    os._exit(leaving.code)
