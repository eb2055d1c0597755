"""A progress bar on stderr, for many targets, on a terminal only. Imports rich when the bar first shows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

_MANY = 10

Progress = Callable[[int, int, str], None]


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Yield a callback ``(done, total, name)`` for the engine, or None where nobody would see the bar.

    ``total`` 0 stands for nobody knows: then only what is done is counted.
    """
    if not sys.stderr.isatty():
        yield None
        return
    with contextlib.ExitStack() as stack:
        update: Progress | None = None

        def callback(done: int, total: int, name: str) -> None:
            nonlocal update
            if 0 < total < _MANY:
                return
            if update is None:
                update = _open(stack, total)
            update(done, total, name)

        yield callback


def _open(stack: contextlib.ExitStack, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[name]}", markup=False),
    )
    bar = stack.enter_context(Bar(*columns, console=Console(stderr=True), transient=True))
    task = bar.add_task("check", total=total or None, name="")

    from template_lint.report.layout.escape import visible

    def update(done: int, total: int, name: str) -> None:
        bar.update(task, completed=done, total=total or None, name=visible(name))

    return update
