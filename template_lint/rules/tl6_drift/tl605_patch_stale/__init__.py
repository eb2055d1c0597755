"""TL605: the training template in use no longer belongs to the template of the model."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.base import Rule


class PatchStale(Rule):
    """The training template in use no longer fits, or is no longer needed.

    What: the template of the model changed, and the training template that stood for it is no proven drop-in for the
    new one; or the new one has become right by itself; or the library holds another version of the training template
    than the one pinned.

    Why it matters: a training template that is no drop-in shows the policy other prompts than the model was made for,
    and other prompts than an inference server will.

    How to fix: keep the pin with its training template. For the new revision `template-lint fix MODEL` says which
    training template fits; leave it out where it is no longer needed.
    """

    code = "TL605"
    name = "patch-stale"
    severity = Severity.WARNING
    stage = "drift"
    needs = ()
