"""TLA11: the buffer does not begin with its rendered prompt."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class PromptDiffers(AuditRule):
    """A buffer does not begin with its own prompt.

    What: the messages (and tools) of a row, rendered with the target's template and encoded, are the first ids of
    its buffer. Messages may be the prompt or the whole conversation.

    Why it matters: sampler and trainer saw other prompts than the record says: another template, other template
    kwargs such as ``enable_thinking``, dropped tools, or a prompt encoded twice.

    How to fix: audit with the template that was used. Give kwargs with ``--kwargs`` or per row, and tools with the
    field ``tools``: a row without them whose prompt was made with some is not asked. ``--no-render`` switches this
    rule off.
    """

    code = "TLA11"
    name = "prompt-differs"
    severity = Severity.ERROR
    what = "the buffer does not begin with its rendered prompt"
    remedy = "Audit with the template, tools and kwargs that were used; --kwargs NAME=VALUE gives a date or a switch."
