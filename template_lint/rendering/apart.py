"""``render()`` in a worker process: bounded in time, memory and output, whatever the template does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from template_lint.rendering.api import RenderError, Rendering, render
from template_lint.rendering.limits import arm_process
from template_lint.rendering.template import Outcome
from template_lint.workers import Died, Failed, run_jobs


def render_apart(source: str, messages: Sequence[Any], **arguments: Any) -> Rendering:
    """As ``render``, but the template runs elsewhere. Raises RenderError where it raises, or where it had to be
    stopped.
    """
    (result,) = [
        result for _, result in run_jobs(_render, [(source, messages, arguments)], jobs=1, initializer=arm_process)
    ]
    if isinstance(result, Died):
        raise RenderError(Outcome(None, "RenderStopped", f"rendering took its process down: {result.reason}"))
    if isinstance(result, Failed):
        raise RenderError(Outcome(None, *result.error.partition(": ")[::2]))
    if isinstance(result, Outcome):
        raise RenderError(result)
    assert isinstance(result, Rendering)
    return result


def _render(payload: tuple[str, Sequence[Any], dict[str, Any]]) -> Rendering | Outcome:
    source, messages, arguments = payload
    try:
        return render(source, messages, **arguments)
    except RenderError as error:
        return error.outcome
