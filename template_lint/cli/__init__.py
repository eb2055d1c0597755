"""The command line: parse, call, print, exit. Every module of this package is one command (its ``command``).

A command's module is imported only when it is asked for, so that ``check`` pays for nothing else.
"""

from __future__ import annotations

from typing import NoReturn

from template_lint.cli.support.program import program


def main() -> NoReturn:
    """Run the command line of this process and leave with its exit code."""
    program.main(prog_name="template-lint")
    raise AssertionError("program.main() exits")
