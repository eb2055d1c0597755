"""TLA05: ids outside the vocabulary."""

from __future__ import annotations

from template_lint.model import Severity
from template_lint.rules.audited import AuditRule


class IdOutsideVocabulary(AuditRule):
    """A token id lies outside the vocabulary.

    What: every id is at least 0 and below the number of tokens (or of rows of the embedding, where config.json is
    there).

    Why it matters: an embedding lookup with such an id crashes, or reads other memory on some devices. The ids are
    those of another tokenizer, or padding such as -100 was recorded as if it were a token.

    How to fix: name the target that the rollouts were sampled from. Cut padding off, or record an attention mask.
    """

    code = "TLA05"
    name = "id-outside-vocabulary"
    severity = Severity.ERROR
    what = "ids outside the vocabulary"
    remedy = "Audit with the tokenizer of the sampler; cut padding off before recording."
