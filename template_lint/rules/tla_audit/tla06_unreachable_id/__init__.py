"""TLA06: ids that no token has."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class UnreachableId(AuditRule):
    """A token id belongs to no token.

    What: every id inside the embedding has a token in the tokenizer. Embeddings are padded to a round number of
    rows; the padding has ids and no tokens.

    Why it matters: such an id decodes to nothing, so text and tokens part. A model samples one only by accident,
    most often because logits of padding rows were not masked.

    How to fix: mask the padding rows in the sampler. If the tokenizer has lost added tokens, restore its files.
    """

    code = "TLA06"
    name = "unreachable-id"
    severity = Severity.WARNING
    what = "ids that no token has"
    remedy = "Mask the logits of the embedding's padding rows in the sampler."
